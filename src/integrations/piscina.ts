// An entry point of its own, `zerotime/piscina`. Of piscina it needs the types alone: the pool is yours.
import type { Piscina } from 'piscina';
import { RateLimitError } from '../errors.ts';
import type { Limiter } from '../limiters/limiter.ts';
import { timedOut } from '../limiters/waiting.ts';
import { checkNumber, checkObject, checkSpanMs, shown } from '../options.ts';
import { onAbort } from '../time/on-abort.ts';
import { onInstant } from '../time/on-instant.ts';
import { Turn, Turnstile } from './turnstile.ts';

/** What piscina's own `run` takes beside the task: `signal`, `filename`, `name`, `transferList`. */
export type RunOptions = NonNullable<Parameters<Piscina['run']>[1]>;

/** What {@link throttle} asks of a limiter: every limiter of zerotime will do. */
export type TaskLimiter = Pick<Limiter, 'clock' | 'tryConsume' | 'wait'>;

/** How many tasks may wait for their start, and how long. */
export interface ThrottleOptions {
  /** The most tasks that may wait for a token or a thread: an integer of at least 0. Default Infinity. */
  readonly maxQueue?: number;
  /** A task that can't be started within so many milliseconds is refused. Default Infinity. */
  readonly timeoutMs?: number;
}

/** Counts of a {@link ThrottledPool}. Every task is in exactly one of them. */
export interface ThrottleStats {
  /** Tasks that wait for a token or a thread. */
  readonly waiting: number;
  /** Tasks that took their token and were given to the pool, and are not done. */
  readonly running: number;
  /** Tasks that returned. */
  readonly completed: number;
  /** Tasks that threw, were aborted or lost their thread while they ran, or that the limiter can't grant. */
  readonly failed: number;
  /** Tasks that found the queue full. */
  readonly refused: number;
  /** Tasks that could not be started within `timeoutMs`. */
  readonly timedOut: number;
  /** Tasks that were aborted before they started, or waited when the pool was closed or destroyed. */
  readonly aborted: number;
}

type Signal = NonNullable<RunOptions['signal']>;

/** Why a task leaves the queue that nobody refused: the pool puts it into its own words. */
class Departure {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

function signalOf(options: RunOptions): Signal | undefined {
  const { signal } = checkObject('options', options);
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal === 'object') return signal;
  throw new TypeError(`signal must be an AbortSignal or an EventEmitter, got ${shown(signal)}`);
}

/** Piscina takes both kinds of signal. */
function onEitherAbort(signal: Signal, listener: () => void): () => void {
  if ('addEventListener' in signal) return onAbort(signal, listener);
  signal.once('abort', listener);
  return () => signal.off('abort', listener);
}

function reasonOf(signal: Signal): unknown {
  return 'reason' in signal ? signal.reason : undefined;
}

/** A piscina pool whose tasks start at the pace of a limiter. Made by {@link throttle}. */
export class ThrottledPool<Task, Result> {
  /** The pool that runs the tasks. What is given to it directly is not paced. */
  readonly pool: Piscina<Task, Result>;
  /** What paces them; others may take from it as well. */
  readonly limiter: TaskLimiter;
  readonly #maxQueue: number;
  readonly #timeoutMs: number;
  /** All tasks that wait, for a thread or for their token. */
  readonly #waiting = new Set<Turn>();
  /** A task keeps its thread from before it asks for a token until it is done. */
  readonly #threads: Turnstile;
  readonly #counts = {
    running: 0,
    completed: 0,
    failed: 0,
    refused: 0,
    timedOut: 0,
    aborted: 0,
  };

  /** Use {@link throttle}, which checks what it is given. */
  constructor(
    pool: Piscina<Task, Result>,
    limiter: TaskLimiter,
    maxQueue: number,
    timeoutMs: number,
  ) {
    this.pool = pool;
    this.limiter = limiter;
    this.#maxQueue = maxQueue;
    this.#timeoutMs = timeoutMs;
    const { options } = pool;
    this.#threads = new Turnstile(() => options.maxThreads * options.concurrentTasksPerWorker);
    this.#leaveWithPool();
  }

  /**
   * The pool's own `run`, with a token taken first: one for each task, when a thread is free for it,
   * in the order in which the tasks came.
   *
   * An abort ends the wait, as it ends the task when it runs, with the pool's own AbortError; a token
   * that the task was promised is given back if no later call stands on it.
   *
   * @throws RateLimitError `ERR_QUEUE_FULL`, at once, if `maxQueue` tasks wait already;
   * `ERR_RATE_LIMIT_TIMEOUT` if the task can't be started within `timeoutMs`. No token was taken.
   */
  async run(task: Task, options: RunOptions = {}): Promise<Result> {
    const signal = signalOf(options);
    try {
      if (signal !== undefined && 'aborted' in signal && signal.aborted) {
        throw new Departure(reasonOf(signal));
      }
      if (!this.#startsNow()) await this.#turn(signal);
    } catch (error) {
      if (!(error instanceof Departure)) throw this.#counted(error);
      this.#counts.aborted++;
      return this.pool.run(task, { ...options, signal: AbortSignal.abort(error.cause) });
    }
    return this.#start(task, options);
  }

  /** What became of all tasks so far. */
  stats(): ThrottleStats {
    return { waiting: this.#waiting.size, ...this.#counts };
  }

  /** Takes a thread and a token, if both are there and nobody waits for them. */
  #startsNow(): boolean {
    const isFree = this.#waiting.size === 0 && this.#threads.isOpen && this.limiter.tryConsume();
    if (isFree) this.#threads.pass();
    return isFree;
  }

  /** Resolves when the task has a thread and a token. */
  async #turn(signal: Signal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#maxQueue) {
      throw new RateLimitError(
        'ERR_QUEUE_FULL',
        `the queue is full: maxQueue is ${this.#maxQueue}`,
      );
    }
    const turn = new Turn(this.#threads);
    const forget =
      signal && onEitherAbort(signal, () => turn.leave(new Departure(reasonOf(signal))));
    this.#waiting.add(turn);
    try {
      const { clock } = this.limiter;
      const deadlineUs = clock.now() + this.#timeoutMs * 1000;
      const leave = await this.#thread(turn, deadlineUs);
      await this.#token(Math.max(0, deadlineUs - clock.now()) / 1000, leave);
    } finally {
      forget?.();
      this.#waiting.delete(turn);
    }
  }

  async #thread(turn: Turn, deadlineUs: number): Promise<AbortSignal> {
    const leave = () => turn.leave(timedOut(1, this.#timeoutMs));
    const cancel = onInstant(this.limiter.clock, deadlineUs, leave);
    try {
      return await turn.place;
    } finally {
      cancel();
    }
  }

  /** Takes a token for a task that has its thread. The tasks of several threads wait side by side. */
  async #token(timeoutMs: number, signal: AbortSignal): Promise<void> {
    try {
      await this.limiter.wait(1, { timeoutMs, signal });
      signal.throwIfAborted();
    } catch (error) {
      this.#threads.leave();
      throw error;
    }
  }

  async #start(task: Task, options: RunOptions): Promise<Result> {
    const counts = this.#counts;
    counts.running++;
    try {
      const result = await this.pool.run(task, options);
      counts.completed++;
      return result;
    } catch (error) {
      counts.failed++;
      throw error;
    } finally {
      counts.running--;
      this.#threads.leave();
    }
  }

  #counted(error: unknown): unknown {
    const code = error instanceof RateLimitError ? error.code : undefined;
    if (code === 'ERR_QUEUE_FULL') this.#counts.refused++;
    else if (code === 'ERR_RATE_LIMIT_TIMEOUT') this.#counts.timedOut++;
    else this.#counts.failed++;
    return error;
  }

  /**
   * A task that waits when the pool ends would start it up again. The pool announces nothing when it
   * is destroyed, so its methods do.
   */
  #leaveWithPool(): void {
    const { pool } = this;
    const { close, destroy } = pool;
    const leaving = (ended: Promise<void>) => {
      const departure = new Departure('the pool is closed');
      // The latest first: then each stands on none that is left, and can give back its token.
      for (const turn of [...this.#waiting].reverse()) turn.leave(departure);
      return ended;
    };
    pool.close = (...options) => leaving(close.apply(pool, options));
    pool.destroy = () => leaving(destroy.call(pool));
  }
}

/**
 * Paces a piscina pool: a bounded queue, the pool's threads, and the rate of a limiter, which other
 * threads and other pools may share. A task takes its token when a thread is free for it, so tokens
 * do not pile up while all threads are busy.
 *
 * Give the pool its tasks through the result's `run` only: a task that is given to the pool itself
 * takes no token, and may keep a thread from one that did.
 *
 * @param pool A pool of piscina 5. Its `close` and `destroy` also end the wait of the tasks here.
 * @param limiter Any limiter.
 * @throws TypeError, RangeError for an argument that is none of these, or out of its range.
 *
 * @example
 * ```ts
 * import { Piscina } from 'piscina';
 * import { throttle } from 'zerotime/piscina';
 *
 * const pool = new Piscina({ filename: new URL('./query.js', import.meta.url).href });
 * const limiter = TokenBucket.create({ rate: 500, burst: 10 });
 * const paced = throttle(pool, limiter, { maxQueue: 1000, timeoutMs: 5000 });
 * const rows = await paced.run({ id: 7 });
 * ```
 */
export function throttle<Task, Result>(
  pool: Piscina<Task, Result>,
  limiter: TaskLimiter,
  options: ThrottleOptions = {},
): ThrottledPool<Task, Result> {
  if (typeof pool?.run !== 'function' || typeof pool.destroy !== 'function') {
    throw new TypeError(`pool must be a Piscina, got ${shown(pool)}`);
  }
  if (typeof limiter?.wait !== 'function' || typeof limiter.tryConsume !== 'function') {
    throw new TypeError(`limiter must be a limiter, got ${shown(limiter)}`);
  }
  const infinity = Number.POSITIVE_INFINITY;
  const { maxQueue = infinity, timeoutMs = infinity } = checkObject('options', options);
  if (maxQueue !== infinity) checkNumber('maxQueue', maxQueue, { min: 0, integer: true });
  checkSpanMs('timeoutMs', timeoutMs);
  return new ThrottledPool(pool, limiter, maxQueue, timeoutMs);
}
