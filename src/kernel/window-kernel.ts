import type { KernelName } from '../memory/handle.ts';
import type { LimiterStats, Receipt, Verdict } from './bucket-kernel.ts';

/** Reads the time, in microseconds of the limiter's clock; a kernel that needs none never calls it. */
export type ReadClock = () => number;

/**
 * The operations of a limiter that counts admissions in a window of time. It makes no promises for
 * later: a caller that is refused learns when a retry can succeed at the earliest, and comes back.
 * All of them are lock-free and linearizable, and a thread that is terminated inside one leaves
 * memory that others can go on with.
 */
export interface WindowKernel {
  readonly name: KernelName;
  /** The most that it admits in a window. */
  readonly limit: number;
  /**
   * Takes `tokens` now and returns 0, or takes none and returns the microseconds until a retry can
   * succeed at the earliest: Infinity for more than the limit.
   */
  take(tokens: number, now: ReadClock): number;
  /** Identifies what the last `take` of this thread that admitted took, for {@link cancel}. */
  receipt(): Receipt;
  /** Takes a `take` back if none came after it; otherwise its tokens lapse and this is false. */
  cancel(receipt: Receipt): boolean;
  /** Takes as many tokens as there are, at most `tokens`. */
  drain(tokens: number, now: ReadClock): number;
  /** {@link take}, and how things stand at its instant. */
  decide(tokens: number, now: ReadClock): Verdict;
  /** Microseconds until `tokens` can be taken: 0 for now, Infinity for more than the limit. */
  timeUntil(tokens: number, now: ReadClock): number;
  /** Tokens that can be taken now. */
  available(now: ReadClock): number;
  /** Counts so far, or undefined if they are not kept. */
  stats(): LimiterStats | undefined;
}

/** What a `Sometimes` does in shared memory. */
export interface SometimesKernel {
  readonly name: KernelName;
  /** Counts a call, and says whether it is an occasion. */
  isDue(now: ReadClock): boolean;
}
