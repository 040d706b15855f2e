import { HOLD_MS, PERMITS } from '../kernel/semaphore/cell.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import { checkNumber } from '../options.ts';
import type { WaitOptions } from './limiter.ts';
import { SHARED_OPTIONS, type SharedOptions } from './opening.ts';

/** Options of `Semaphore.create`. */
export interface SemaphoreOptions extends SharedOptions {
  /** How many callers may be in flight at once: an integer from 0 to `maxPermits`. */
  readonly permits: number;
  /**
   * The most permits that `reconfigure` can set: an integer from 1 to 65,535. Default 128, or
   * `permits` if that is more. With the default a semaphore takes 14 KiB; with 4,000, 198 KiB.
   * However many, at most 8,192 callers can hold permits or wait in the queue at a time; further
   * ones wait for that.
   */
  readonly maxPermits?: number;
  /**
   * The longest time in milliseconds that a permit may be held: 1 to 3.2e10. An expired permit goes
   * to the next caller, and its `release` throws. Default: no bound.
   */
  readonly holdMs?: number;
}

/** Options of `Semaphore.acquire`. */
export type AcquireOptions = Pick<WaitOptions, 'timeoutMs' | 'signal' | 'maxWaiting'>;

/** Options of `run`. */
export interface RunOptions extends AcquireOptions {
  /**
   * The number of permits that the function needs; with `allOf(semaphore, limiter)`, of tokens.
   * Default 1.
   */
  readonly n?: number;
}

/** A worker thread as `Semaphore.watch` needs it: a `Worker` of `node:worker_threads`. */
export interface WatchedWorker {
  /** The thread's number within its process. */
  readonly threadId: number;
  /** Calls the listener when the thread has ended. */
  once(event: 'exit', listener: () => void): unknown;
}

export const SEMAPHORE_OPTIONS: Known<SemaphoreOptions> = /* @__PURE__ */ joined(SHARED_OPTIONS, {
  permits: true,
  maxPermits: true,
  holdMs: true,
});
/** The options of `acquire`. */
export const ACQUIRE: Known<AcquireOptions> = { timeoutMs: true, signal: true, maxWaiting: true };

const DEFAULT_MAX_PERMITS = 128;

/** Checks and returns the number of permits that a call asks for. */
export function checkPermits(n: unknown): number {
  return checkNumber('n', n, { ...PERMITS, min: 1 });
}

/** Checks the options of a semaphore, and fills in their defaults. */
export function checkSemaphore(options: SemaphoreOptions): {
  permits: number;
  maxPermits: number;
  holdMs: number;
} {
  const { permits, maxPermits, holdMs } = checkOptions(options, SEMAPHORE_OPTIONS);
  checkNumber('permits', permits, PERMITS);
  const range = { ...PERMITS, min: Math.max(permits, 1) };
  return {
    permits,
    maxPermits: checkNumber(
      'maxPermits',
      maxPermits ?? Math.max(permits, DEFAULT_MAX_PERMITS),
      range,
    ),
    holdMs: holdMs === undefined ? 0 : checkNumber('holdMs', holdMs, HOLD_MS),
  };
}
