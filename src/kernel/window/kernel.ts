import type { KernelName } from '../../memory/handle.ts';
import type { LimiterStats, Outcome, Receipt } from '../bucket/kernel.ts';
import type { Change } from './limit.ts';

/**
 * Reads the limiter's clock for a kernel. The reading is a field, because a number that a function
 * returns may be allocated on the heap.
 */
export interface ClockReader {
  read(): void;
  /** The last reading, in microseconds of the clock. */
  readonly us: number;
}

/**
 * The lock-free, linearizable operations of a window or log, which cannot reserve ahead. A thread
 * terminated inside an operation leaves memory that other threads can continue with.
 */
export interface WindowKernel {
  readonly name: KernelName;
  /** The most tokens that a window currently admits. */
  readonly limit: number;
  /** The limit under which this thread's last call was decided. */
  readonly metLimit: number;
  /** The current length of a window in milliseconds. */
  readonly intervalMs: number;
  /** Takes `tokens` now, or none. */
  take(tokens: number, clock: ClockReader): boolean;
  /**
   * After a refused {@link take} of this thread, until its next call on any limiter: microseconds
   * from the last clock reading to the earliest retry that can succeed; Infinity for more than the
   * limit.
   */
  readonly waitUs: number;
  /** Identifies this thread's last admitted `take`, for {@link cancel}. */
  receipt(): Receipt;
  /** Cancels a `take` if none followed it; otherwise its tokens lapse and this returns false. */
  cancel(receipt: Receipt): boolean;
  /** Takes all available tokens, at most `tokens`. */
  drain(tokens: number, clock: ClockReader): number;
  /** {@link take}; also returns the limiter's state at its instant. */
  decide(tokens: number, clock: ClockReader): Outcome;
  /** Microseconds until `tokens` can be taken: 0 for now, Infinity for more than the limit. */
  timeUntil(tokens: number, clock: ClockReader): number;
  /** Tokens that can be taken now. */
  available(clock: ClockReader): number;
  /** Changes the limit for all threads. */
  reconfigure(change: Partial<Change>, clock: ClockReader): void;
  /**
   * Puts back tokens that this thread took in the current window or slot under the current limit,
   * and returns their number. Others lapse: all of them in a log.
   */
  returnTokens(tokens: number, clock: ClockReader): number;
  /** Counts so far, or undefined without `stats: true`. */
  stats(): LimiterStats | undefined;
}

/** The operations of a `Sometimes` in shared memory. */
export interface SometimesKernel {
  readonly name: KernelName;
  /** Counts a call, and returns whether it is an occasion. */
  isDue(clock: ClockReader): boolean;
}
