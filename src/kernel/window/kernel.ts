import type { KernelName } from '../../memory/handle.ts';
import type { LimiterStats, Outcome, Receipt } from '../bucket/kernel.ts';

/**
 * Reads the limiter's clock, for a kernel that needs the time. What was read last is a field,
 * because a number that a function returns may have to be put on the heap.
 */
export interface ClockReader {
  read(): void;
  /** The last reading, in microseconds of the clock. */
  readonly us: number;
}

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
  /** Takes `tokens` now, or none. */
  take(tokens: number, clock: ClockReader): boolean;
  /**
   * After a {@link take} of this thread that took none: microseconds from the last reading of the
   * clock until a retry can succeed at the earliest, Infinity for more than the limit.
   */
  readonly waitUs: number;
  /** Identifies what the last `take` of this thread that admitted took, for {@link cancel}. */
  receipt(): Receipt;
  /** Takes a `take` back if none came after it; otherwise its tokens lapse and this is false. */
  cancel(receipt: Receipt): boolean;
  /** Takes as many tokens as there are, at most `tokens`. */
  drain(tokens: number, clock: ClockReader): number;
  /** {@link take}, and how things stand at its instant. */
  decide(tokens: number, clock: ClockReader): Outcome;
  /** Microseconds until `tokens` can be taken: 0 for now, Infinity for more than the limit. */
  timeUntil(tokens: number, clock: ClockReader): number;
  /** Tokens that can be taken now. */
  available(clock: ClockReader): number;
  /** Counts so far, or undefined if they are not kept. */
  stats(): LimiterStats | undefined;
}

/** What a `Sometimes` does in shared memory. */
export interface SometimesKernel {
  readonly name: KernelName;
  /** Counts a call, and says whether it is an occasion. */
  isDue(clock: ClockReader): boolean;
}
