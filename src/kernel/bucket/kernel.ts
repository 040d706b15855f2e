import type { KernelName } from '../../memory/handle.ts';
import type { Schedule } from './schedule.ts';

/** Refused for now: the tokens will arrive, but not within the allowed wait. */
export const LATER = -1;
/** Refused for good: the request exceeds the burst. */
export const NEVER = -2;
// Failures that the engine reports to its host.
/** The cell's memory or the clock is invalid. */
export const DAMAGED = -3;
/** All configuration records are claimed. */
export const BUSY = -4;
/** All slots of a limit set are held. */
export const CROWDED = -7;
/** The instance serves another limit set: turn it first. */
export const ELSEWHERE = -8;
/** Another thread was faster: call again. */
export const AGAIN = -9;

/** Counts kept by a limiter with `stats: true`, over all threads since its creation. */
export interface LimiterStats {
  /** Calls that requested tokens. */
  readonly calls: number;
  /** Tokens admitted. Tokens returned later are not subtracted. */
  readonly admitted: number;
  /** Calls that got no tokens. */
  readonly refused: number;
  /**
   * Compare-and-exchanges that failed because another thread changed the limiter within the last
   * microsecond. Each costs one more attempt.
   */
  readonly failedExchanges: number;
}

/**
 * The lock-free, linearizable operations on one bucket. Instants are microseconds of the limiter's
 * clock. A thread terminated inside an operation leaves a valid word.
 */
export interface TokenKernel {
  /** Microseconds from `nowUs` to wait before acting (0 is now), {@link LATER} or {@link NEVER}. */
  acquire(nowUs: number, tokens: number, maxWaitUs: number): number;
  /**
   * Takes any number of tokens. Returns microseconds until the debt is paid; {@link LATER} if too
   * long.
   */
  charge(nowUs: number, tokens: number): number;
  /** `acquire` without a wait; also returns the bucket's state at its instant. */
  decide(nowUs: number, tokens: number): Outcome;
  /** The state of each limit, if there are several. Counts as no call. */
  look?(nowUs: number): Outcome;
  /** Takes all whole tokens, at most `tokens`. */
  drain(nowUs: number, tokens: number): number;
  /** Returns tokens to the bucket, up to the burst; true if waiting callers have moved up. */
  returnTokens(nowUs: number, tokens: number): boolean;
  /** Identifies this thread's last admitted `acquire`, for {@link cancel}. */
  receipt(): Receipt;
  /**
   * Cancels an `acquire` if none followed it; otherwise its tokens lapse and this returns false.
   */
  cancel(receipt: Receipt): boolean;
  /** Tokens in the bucket, negative in debt, Infinity if unlimited. */
  balance(nowUs: number): number;
  /** Microseconds until the bucket holds `tokens`; Infinity if it never will. */
  timeUntil(nowUs: number, tokens: number): number;
  /** The limit in force. */
  schedule(): Schedule;
}

/** A bucket with its own word. */
export interface BucketKernel extends TokenKernel {
  readonly name: KernelName;
  /** The place of this thread's last `acquire`, which is due at `dueUs` under the limit in force. */
  position(dueUs: number): Place;
  /** A watch on the limit in force. */
  epoch(): LimitEpoch;
  /** Counts so far, or undefined without `stats: true`. */
  stats(): LimiterStats | undefined;
}

/** The place of reserved tokens in a queue. Changes of the limit move its instant only. */
export interface Place {
  /** The instant, in microseconds, at which the tokens are due; Infinity while none arrive. */
  dueUs(): number;
  /** Cancels the reservation if that is still exact. */
  cancel(receipt: Receipt): boolean;
}

/** Watches a limit without loading a contended word. */
export interface LimitEpoch {
  /** Whether the limit is known to be in force. */
  readonly holds: boolean;
  /** Whether the limit is in force although {@link holds} is false. */
  endures(): boolean;
  /** Watches the limit in force. */
  renew(): void;
}

/** The index of a token, as four 32-bit numbers. */
export type TokenIndex = readonly [
  low: number,
  high: number,
  fractionLow: number,
  fractionHigh: number,
];

/** The place in the queue of a bucket with one limit: the index of its last token. */
export interface WordPromise {
  /** The epochs of the record that admitted it and of that record's limit. */
  readonly epoch: number;
  readonly limit: number;
  readonly index: TokenIndex;
}

/** When the tokens of a promise are due, in microseconds. */
export interface DueInstant {
  /** Infinity while the bucket is paused. */
  readonly dueUs: number;
  /** The live record: its epoch, and when it went live. */
  readonly epoch: number;
  readonly sinceUs: number;
}

/** The state of a limit after one `acquire`. */
export interface LimitOutcome {
  readonly burst: number;
  /** Tokens left, fractions included. */
  readonly balance: number;
  /** Microseconds until the same call can succeed; 0 if it succeeded. */
  readonly retryUs: number;
  /** Microseconds until the bucket is full. */
  readonly fullUs: number;
  /** Microseconds until one more whole token is left; Infinity if none will be. */
  readonly nextUs: number;
}

/** The outcome of one `acquire`, computed from a single word. */
export interface Outcome extends LimitOutcome {
  readonly allowed: boolean;
  /** The state of each limit, if there are several. */
  readonly limits?: readonly LimitOutcome[];
}

/** Identifies an acquisition to the kernel that made it. */
export type Receipt = object;

/** The word that an acquisition wrote, and the cost it added, both in 32-bit halves. */
export interface WordReceipt {
  readonly low: number;
  readonly high: number;
  readonly costLow: number;
  readonly costHigh: number;
}
