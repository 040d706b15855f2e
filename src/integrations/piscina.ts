// Entry point `zerotime/piscina`. It imports only types from piscina: you create the pool.
import type { Piscina } from 'piscina';
import { RateLimitError } from '../errors.ts';
import type { Limiter, WaitOptions } from '../limiters/limiter.ts';
import { timedOut } from '../limiters/waiting.ts';
import { checkNumber, checkObject, checkSpanMs, shown } from '../options.ts';
import { onAbort } from '../time/on-abort.ts';
import { onInstant } from '../time/on-instant.ts';
import { Turn, Turnstile } from './turnstile.ts';

/** The options of piscina's `run`: `signal`, `filename`, `name`, `transferList`. */
export type RunOptions = NonNullable<Parameters<Piscina['run']>[1]>;

/** The limiter methods that {@link throttle} needs. Every zerotime limiter has them. */
export interface TaskLimiter extends Pick<Limiter, 'clock' | 'tryConsume'> {
  /** Waits until `n` tokens are available, and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<unknown>;
}

/** How many tasks may wait to start, and for how long. */
export interface ThrottleOptions {
  /** Maximum number of tasks waiting for a thread or token: an integer >= 0. Default Infinity. */
  readonly maxQueue?: number;
  /**
   * Maximum time in milliseconds before a task starts; after it the task fails. Default Infinity.
   */
  readonly timeoutMs?: number;
}

/** Task counts of a {@link ThrottledPool}. Each task is in exactly one of them. */
export interface ThrottleStats {
  /** Tasks waiting for a thread or a token. */
  readonly waiting: number;
  /** Tasks in flight: passed to the pool with a token and not finished. */
  readonly running: number;
  /** Tasks that returned. */
  readonly completed: number;
  /** Tasks that failed or were aborted while running, or that the limiter can never admit. */
  readonly failed: number;
  /** Tasks refused because the queue was full. */
  readonly refused: number;
  /** Tasks that did not start within `timeoutMs`. */
  readonly timedOut: number;
  /** Tasks aborted before they started, or still waiting when the pool was closed or destroyed. */
  readonly aborted: number;
}

type Signal = NonNullable<RunOptions['signal']>;

/** An abort, or the end of the pool, while a task waits. The pool turns it into its AbortError. */
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

/** Piscina accepts an AbortSignal or an EventEmitter. */
function onEitherAbort(signal: Signal, listener: () => void): () => void {
  if ('addEventListener' in signal) return onAbort(signal, listener);
  signal.once('abort', listener);
  return () => signal.off('abort', listener);
}

function reasonOf(signal: Signal): unknown {
  return 'reason' in signal ? signal.reason : undefined;
}

/** A piscina pool with a rate limit on starting tasks. Created by {@link throttle}. */
export class ThrottledPool<Task, Result> {
  /** The pool that runs the tasks. Tasks submitted to it directly are not limited. */
  readonly pool: Piscina<Task, Result>;
  /** The limiter that tasks take their tokens from. It may be shared with other code. */
  readonly limiter: TaskLimiter;
  readonly #maxQueue: number;
  readonly #timeoutMs: number;
  /** All tasks that wait for a thread or a token, in order of arrival. */
  readonly #waiting = new Set<Turn>();
  /** A task takes a place here before it asks for a token, and keeps it until it finishes. */
  readonly #threads: Turnstile;
  readonly #counts = {
    running: 0,
    completed: 0,
    failed: 0,
    refused: 0,
    timedOut: 0,
    aborted: 0,
  };

  /** Use {@link throttle}, which validates the arguments. */
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
   * Waits for a free thread and a token, in order of arrival, then calls the pool's `run`. Each
   * task takes one token.
   *
   * An abort rejects with the pool's AbortError, whether the task is waiting or running. If the
   * task had already reserved its token, the token is returned unless a later call depends on it.
   *
   * @throws RateLimitError `ERR_QUEUE_FULL`, at once, if `maxQueue` tasks are waiting;
   * `ERR_RATE_LIMIT_TIMEOUT` if the task can't start within `timeoutMs`. Neither takes a token.
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

  /** The number of tasks in each state. */
  stats(): ThrottleStats {
    return { waiting: this.#waiting.size, ...this.#counts };
  }

  /** Takes a thread and a token if both are available and no task is waiting. */
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

  /** Takes a token for a task that has a thread. As many tasks wait here as there are threads. */
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
   * A task still waiting when the pool ends would start the pool's threads again. Piscina emits no
   * event on `destroy`, so both methods are wrapped.
   */
  #leaveWithPool(): void {
    const { pool } = this;
    const { close, destroy } = pool;
    const leaving = (ended: Promise<void>) => {
      const departure = new Departure('the pool is closed');
      // Newest first: a reservation can be cancelled only while no later one depends on it.
      for (const turn of [...this.#waiting].reverse()) turn.leave(departure);
      return ended;
    };
    pool.close = (...options) => leaving(close.apply(pool, options));
    pool.destroy = () => leaving(destroy.call(pool));
  }
}

/**
 * Adds a rate limit and a bounded queue to a piscina pool. Other threads and pools may share the
 * limiter. A task takes its token only when a thread is free, so no tokens are held by tasks that
 * cannot start.
 *
 * Submit tasks only through the returned object's `run`. A task passed to the pool itself takes no
 * token and can occupy the thread of a task that did.
 *
 * @param pool A piscina 5 pool. Its `close` and `destroy` also abort the tasks waiting here.
 * @param limiter Any limiter.
 * @throws TypeError, RangeError for an invalid argument.
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
