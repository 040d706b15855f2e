// Entry point `zerotime/tinypool`. Imports only types from tinypool: you create the pool.
import type { Tinypool } from 'tinypool';
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

/** Options of tinypool's `run`: `signal`, `filename`, `name`, `transferList` and others. */
export type RunOptions = NonNullable<Parameters<Tinypool['run']>[1]>;

/** A tinypool with limits on its tasks. Created by {@link throttle}. */
export type ThrottledPool<Task, Result> = ThrottledWorkerPool<Tinypool, Task, Result, RunOptions>;

/**
 * Adds a rate limit, a limit on tasks in flight and a bounded, fair queue to a tinypool, like
 * `throttle` of `zerotime/piscina` for piscina pools. Tinypool has no types for tasks and results:
 * pass them as type arguments if you want them checked.
 *
 * Submit tasks only through the returned object's `run`. A task passed to the pool itself takes no
 * token and can occupy the thread of a task that did.
 *
 * @param pool A tinypool 1 or 2. Its `destroy` also aborts the waiting tasks.
 * @param limiter Any limiter, or options with a `limiter`, a `semaphore` or both.
 * @throws TypeError, RangeError for an invalid argument.
 *
 * @example
 * ```ts
 * import { Tinypool } from 'tinypool';
 * import { throttle } from 'zerotime/tinypool';
 *
 * const pool = new Tinypool({ filename: new URL('./query.js', import.meta.url).href });
 * const limiter = TokenBucket.create({ rate: 500, burst: 10 });
 * const paced = throttle<{ id: number }, string[]>(pool, limiter, { maxQueue: 1000 });
 * const rows = await paced.run({ id: 7 });
 * ```
 */
export function throttle<Task = unknown, Result = unknown>(
  pool: Tinypool,
  limiter: TaskLimiter | PoolOptions<Task>,
  options?: ThrottleOptions<Task>,
): ThrottledPool<Task, Result> {
  checkPeer('zerotime/tinypool', 'tinypool');
  const watched = new WeakSet<Thread>();
  const started = () => {
    for (const thread of pool.threads) {
      if (watched.has(thread)) continue;
      watched.add(thread);
      thread.once('exit', () => ended(pool, thread));
    }
  };
  return throttledPool('Tinypool', pool, limiter, options, started);
}

type Thread = Tinypool['threads'][number];

/**
 * Tells tinypool of a thread that called `process.exit`, as if it had failed: tinypool does not
 * notice, and would neither settle the thread's tasks nor replace it.
 */
function ended(pool: Tinypool, thread: Thread): void {
  if (!pool.threads.includes(thread)) return; // tinypool has ended it
  const ignored = () => undefined;
  // Without a task, tinypool emits the error itself, which would end the process.
  pool.on('error', ignored);
  thread.emit('error', new Error('the thread of the task has exited'));
  pool.off('error', ignored);
}
