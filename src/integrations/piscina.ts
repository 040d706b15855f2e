// Entry point `zerotime/piscina`. Imports only types from piscina: you create the pool.
import type { Piscina } from 'piscina';
import { checkPeer } from '../peers.ts';
import {
  type PoolOptions,
  type ThrottledPool as ThrottledWorkerPool,
  type ThrottleOptions,
  throttledPool,
} from '../throttle/pool.ts';
import type { TaskLimiter } from '../throttle.ts';

export type { PoolEvent, PoolOptions, ThrottleOptions } from '../throttle/pool.ts';
export type { CloseOptions, TaskLimiter, ThrottleStats } from '../throttle.ts';

/** Options of piscina's `run`: `signal`, `filename`, `name`, `transferList`. */
export type RunOptions = NonNullable<Parameters<Piscina['run']>[1]>;

/** A piscina pool with limits on its tasks. Created by {@link throttle}. */
export type ThrottledPool<Task, Result> = ThrottledWorkerPool<
  Piscina<Task, Result>,
  Task,
  Result,
  RunOptions
>;

/**
 * Adds a rate limit, a limit on tasks in flight and a bounded, fair queue to a piscina pool. Other
 * threads and pools may share the limiter and the semaphore. A task takes its permit and token only
 * when a thread is free, so waiting tasks hold none.
 *
 * Submit tasks only through the returned object's `run`. A task passed to the pool itself takes no
 * token and can occupy the thread of a task that did.
 *
 * @param pool A piscina 4 or 5 pool. Its `close` and `destroy` also abort the waiting tasks.
 * @param limiter Any limiter, or options with a `limiter`, a `semaphore` or both.
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
  limiter: TaskLimiter | PoolOptions<Task>,
  options?: ThrottleOptions<Task>,
): ThrottledPool<Task, Result> {
  checkPeer('zerotime/piscina', 'piscina');
  return throttledPool('Piscina', pool, limiter, options);
}
