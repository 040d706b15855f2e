import { EventEmitter } from 'node:events';
import { checkOptions, given, type Known } from '../known-options.ts';
import { checkObject, shown } from '../options.ts';
import type { Signal, ThrottleStats, Work } from './call.ts';
import { type CloseOptions, Dispatcher } from './dispatcher.ts';
import { type BoundOptions, checkQueue, QUEUE_OPTIONS, type QueueOptions } from './options.ts';
import type { TaskLimiter } from './tokens.ts';

/** The methods that {@link ThrottledPool} needs of a pool. piscina and tinypool have them. */
export interface WorkerPool {
  /** Runs a task in a thread. */
  run(task: never, options?: never): Promise<unknown>;
  /** Ends the pool at once. */
  destroy(): Promise<void>;
  /** The size of the pool, which may change. */
  readonly options: { readonly maxThreads: number; readonly concurrentTasksPerWorker: number };
}

/** A submitted task. */
interface Submission<Task, Options> {
  readonly args: [task: Task];
  readonly options: Options;
}

const NO_OPTIONS = Object.freeze({});

/** The options of a task used here. */
interface TaskOptions {
  readonly signal?: Signal | null | undefined;
}

/** Options of `throttle`: how tasks wait, and a semaphore in addition to the limiter. */
export interface ThrottleOptions<Task = unknown> extends QueueOptions<[task: Task]> {
  /**
   * Each task holds a permit of this semaphore while it runs. The permits belong to the thread that
   * submits the task: they come back when a worker dies, without `watch`.
   */
  readonly semaphore?: BoundOptions['semaphore'];
}

/** Options of `throttle` with a limiter, a semaphore or both. */
export interface PoolOptions<Task = unknown> extends ThrottleOptions<Task> {
  /** Each task takes a token of this limiter before it starts. */
  readonly limiter?: TaskLimiter;
}

/**
 * The events of a {@link ThrottledPool}: `drain` when no task waits any more, `close` when its
 * `close` has finished.
 */
export type PoolEvent = 'drain' | 'close';

/** A worker pool whose tasks start as a limiter and a semaphore allow. Created by `throttle`. */
export class ThrottledPool<Pool extends WorkerPool, Task, Result, Options> {
  /** The pool that runs the tasks. Tasks submitted to it directly are not limited. */
  readonly pool: Pool;
  /** The limiter that tasks take their tokens from, if any. It may be shared with other code. */
  readonly limiter: TaskLimiter | undefined;
  readonly #dispatcher: Dispatcher<[task: Task], Submission<Task, Options>>;
  readonly #events = new EventEmitter();

  /** Use `throttle`, which has the pool's types. @internal */
  constructor(pool: Pool, options: PoolOptions<Task>, started?: () => void) {
    const queue = checkQueue(checkOptions(options, QUEUE_OPTIONS));
    this.pool = pool;
    this.limiter = queue.limiter;
    const poolRun: (task: never, options: never) => Promise<unknown> = pool.run;
    const run = poolRun.bind(pool) as (task: Task, options: Options) => Promise<Result>;
    const work: Work<Submission<Task, Options>> = {
      start({ args: [task], options }) {
        const result = run(task, options);
        started?.();
        return result;
      },
      signalOf: ({ options }) => signalOf(options),
      // The pool creates its own error.
      aborted: async ({ args: [task], options }, reason) =>
        run(task, { ...options, signal: AbortSignal.abort(reason) }),
    };
    const size = pool.options;
    const places = () => size.maxThreads * size.concurrentTasksPerWorker;
    this.#dispatcher = new Dispatcher(work, { ...queue, places });
    // A listener that throws must not end the dispatcher's turn.
    this.#dispatcher.onEmpty = () => queueMicrotask(() => this.#events.emit('drain'));
    this.#endWithPool();
  }

  /**
   * Waits for a free thread, a token and a permit, then calls the pool's `run`. Each task takes one
   * token.
   *
   * An abort rejects with the pool's AbortError, whether the task is waiting or running. A waiting
   * task takes no token. If it was the last one, its reserved token is returned unless a later call
   * depends on it.
   *
   * @throws RateLimitError `ERR_QUEUE_FULL`, at once, if `maxQueue` tasks are waiting;
   * `ERR_RATE_LIMIT_TIMEOUT` if the task can't start within `timeoutMs`; `ERR_THROTTLE_CLOSED` after
   * {@link close}. None of them takes a permit.
   */
  run(task: Task, options = NO_OPTIONS as Options): Promise<Result> {
    return this.#dispatcher.submit({ args: [task], options }) as Promise<Result>;
  }

  /** Adds a listener for an event. Events of the pool itself come from {@link pool}. */
  on(event: PoolEvent, listener: () => void): this {
    this.#events.on(event, listener);
    return this;
  }

  /** Adds a listener for the next event. */
  once(event: PoolEvent, listener: () => void): this {
    this.#events.once(event, listener);
    return this;
  }

  /** Removes a listener. */
  off(event: PoolEvent, listener: () => void): this {
    this.#events.off(event, listener);
    return this;
  }

  /** Number of tasks waiting to start. Running tasks are the pool's. */
  get queueSize(): number {
    return this.#dispatcher.length;
  }

  /** Milliseconds that the longest waiting task has waited; 0 if none waits. */
  get oldestMs(): number {
    return this.#dispatcher.oldestMs;
  }

  /** The number of tasks in each state. */
  stats(): ThrottleStats {
    return this.#dispatcher.stats();
  }

  /** Resolves when no task waits or runs. */
  drain(): Promise<void> {
    return this.#dispatcher.drain();
  }

  /** Refuses later tasks, and closes the pool when earlier ones have ended. */
  async close(options?: CloseOptions): Promise<void> {
    await this.#dispatcher.close(options);
    const { pool } = this;
    await ('close' in pool && typeof pool.close === 'function' ? pool.close() : pool.destroy());
    this.#events.emit('close');
  }

  /**
   * A task still waiting when the pool ends would start the pool's threads again. Pools emit no
   * event when they end, so their methods are wrapped.
   */
  #endWithPool(): void {
    const pool: Partial<Record<'close' | 'destroy', (...options: unknown[]) => Promise<void>>> =
      this.pool;
    for (const name of ['close', 'destroy'] as const) {
      const end = pool[name];
      if (typeof end !== 'function') continue;
      pool[name] = (...options) => {
        const ended = end.apply(pool, options);
        this.#dispatcher.endAll('the pool is closed', 'aborted');
        return ended;
      };
    }
  }
}

function signalOf(options: unknown): Signal | undefined {
  const { signal } = checkObject('options', options as TaskOptions);
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal === 'object' && ('addEventListener' in signal || 'once' in signal)) {
    return signal;
  }
  throw new TypeError(`signal must be an AbortSignal or an EventEmitter, got ${shown(signal)}`);
}

function isLimiter(value: object): value is TaskLimiter {
  return 'tryConsume' in value;
}

/**
 * Creates the pool that `throttle` returns, from its arguments. `started` is called after each call
 * of the pool's `run`.
 */
export function throttledPool<Pool extends WorkerPool, Task, Result, Options>(
  kind: string,
  pool: Pool,
  limiter: TaskLimiter | PoolOptions<Task>,
  options: ThrottleOptions<Task> = {},
  started?: () => void,
): ThrottledPool<Pool, Task, Result, Options> {
  if (typeof pool?.run !== 'function' || typeof pool.destroy !== 'function') {
    throw new TypeError(`pool must be a ${kind}, got ${shown(pool)}`);
  }
  const others = given(checkObject('options', options), QUEUE_OPTIONS as Known<ThrottleOptions>);
  if (typeof limiter === 'object' && limiter !== null && !isLimiter(limiter)) {
    return new ThrottledPool(pool, { ...others, ...given(limiter, QUEUE_OPTIONS) }, started);
  }
  return new ThrottledPool(pool, { ...others, limiter: limiter as TaskLimiter }, started);
}
