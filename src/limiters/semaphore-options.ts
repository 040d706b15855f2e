import { HOLD_MS, type NewSemaphore, PERMITS } from '../kernel/semaphore/cell.ts';
import { checkOptions, given, joined, type Known } from '../known-options.ts';
import { checkChoice, checkNumber, checkObject } from '../options.ts';
import type { CallOutcome } from './adaptation.ts';
import { ADAPT_RULES, type AdaptRule, firstState } from './adaptive-permits.ts';
import type { WaitOptions } from './limiter.ts';
import { SHARED_OPTIONS, type SharedOptions } from './opening.ts';

/** The range in which a semaphore with `adapt` chooses its number of permits. */
export interface AdaptivePermits {
  /** An integer from 1 to `max`. Default 1. */
  readonly min?: number;
  /** An integer up to `maxPermits`. */
  readonly max: number;
  /** The number before anything is measured: from `min` to `max`. Default 20, within the range. */
  readonly initial?: number;
}

/** Options of `Semaphore.create`. */
export interface SemaphoreOptions extends SharedOptions {
  /**
   * How many callers may be in flight at once: an integer from 0 to `maxPermits`; with `adapt`, a
   * range.
   */
  readonly permits: number | AdaptivePermits;
  /**
   * Lets the number of permits follow the latency of the calls, over all threads and processes:
   * `'gradient'` and `'vegas'` keep a short queue in the server, `'aimd'` grows until calls are
   * dropped. See `docs/how-many-at-once.md`. Default: the number is fixed.
   */
  readonly adapt?: AdaptRule;
  /**
   * The most permits that `reconfigure` can set: an integer from 1 to 65,535. Default 128, or
   * `permits` or its `max` if that is more. With the default a semaphore takes 14 KiB; with 4,000, 194 KiB.
   * At most 512 callers can hold permits or wait in the queue at a time with 128; with more, twice
   * as many and 256, rounded up to a power of two, and at most 8,192. Further ones wait for that.
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
  /**
   * The outcome of a call whose function throws or rejects, for a semaphore that adapts. Default:
   * `'dropped'` for errors whose name, or that of their cause, ends in `TimeoutError`; `'ignore'`
   * for others.
   */
  readonly outcomeOf?: (error: unknown) => CallOutcome;
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
  adapt: true,
  maxPermits: true,
  holdMs: true,
});
/** The options of `acquire`. */
export const ACQUIRE: Known<AcquireOptions> = { timeoutMs: true, signal: true, maxWaiting: true };
/** The options of `run`. */
export const RUN: Known<RunOptions> = /* @__PURE__ */ joined(ACQUIRE, { n: true, outcomeOf: true });

const DEFAULT_MAX_PERMITS = 128;
const DEFAULT_INITIAL = 20;
const RANGE: Known<AdaptivePermits> = { min: true, max: true, initial: true };

/** Checks and returns the number of permits that a call asks for. */
export function checkPermits(n: unknown): number {
  return checkNumber('n', n, { ...PERMITS, min: 1 });
}

/** The options of an adaptive semaphore as `open` compares them: with `min`, and a first number. */
export function withRange<T extends Pick<SemaphoreOptions, 'permits'>>(options: T): T {
  const { permits } = options;
  if (typeof permits !== 'object' || permits === null) return options;
  const known = { ...SEMAPHORE_OPTIONS, onMismatch: true } as never; // those of T
  return { ...given(options, known), permits: { min: 1, ...given(permits, RANGE) } } as T;
}

/** Checks a range of permits. */
export function checkRange(
  range: AdaptivePermits,
  maxPermits: number = PERMITS.max,
): Required<AdaptivePermits> {
  const { min = 1, max } = checkOptions(range, RANGE, 'permits');
  checkNumber('permits.max', max, { ...PERMITS, min: 1, max: maxPermits });
  checkNumber('permits.min', min, { ...PERMITS, min: 1, max });
  const { initial = Math.min(max, Math.max(min, DEFAULT_INITIAL)) } = range;
  return { min, max, initial: checkNumber('permits.initial', initial, { ...PERMITS, min, max }) };
}

/** The number of permits, and the range of an adaptive semaphore. */
function checkNumbers({ permits, adapt }: SemaphoreOptions): {
  readonly permits: number;
  readonly most: number;
  readonly adaptive: NewSemaphore['adaptive'];
} {
  if (adapt === undefined) {
    const fixed = checkNumber('permits', permits, PERMITS);
    return { permits: fixed, most: fixed, adaptive: undefined };
  }
  checkChoice('adapt', adapt, ADAPT_RULES);
  if (typeof permits === 'number') {
    throw new TypeError(`permits must be an object with max if there is adapt, got ${permits}`);
  }
  const range = checkRange(checkObject('permits', permits));
  const { min, max, initial } = range;
  const window = { min, max, state: firstState(initial) };
  const adapts = ADAPT_RULES.indexOf(adapt) + 1;
  return { permits: range.initial, most: range.max, adaptive: { adapts, window } };
}

/** Checks the options of a semaphore, and fills in their defaults. */
export function checkSemaphore(
  options: SemaphoreOptions,
): Pick<NewSemaphore, 'permits' | 'maxPermits' | 'holdMs' | 'adaptive'> {
  checkOptions(options, SEMAPHORE_OPTIONS);
  const { permits, most, adaptive } = checkNumbers(options);
  const { maxPermits = Math.max(most, DEFAULT_MAX_PERMITS), holdMs } = options;
  const range = { ...PERMITS, min: Math.max(most, 1) };
  return {
    permits,
    adaptive,
    maxPermits: checkNumber('maxPermits', maxPermits, range),
    holdMs: holdMs === undefined ? 0 : checkNumber('holdMs', holdMs, HOLD_MS),
  };
}
