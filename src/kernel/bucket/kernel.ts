import type { KernelName } from '../../memory/handle.ts';
import type { Schedule } from './schedule.ts';

/** A refusal that time mends: the tokens will be there, but not within the wait allowed. */
export const LATER = -1;
/** A refusal that nothing mends: more tokens than the bucket can hold. */
export const NEVER = -2;
// In place of an answer, between engine and host.
/** The cell's memory makes no sense, or the clock. */
export const DAMAGED = -3;
/** All configuration records are claimed. */
export const BUSY = -4;

/** Counts kept by a limiter created with `stats: true`, over all threads since its creation. */
export interface LimiterStats {
  /** Calls that asked for tokens. */
  readonly calls: number;
  /** Tokens admitted. Tokens given back later are not taken off. */
  readonly admitted: number;
  /** Calls that got nothing. */
  readonly refused: number;
  /**
   * Compare-and-exchanges lost to another thread that changed the bucket at the same time, to a
   * microsecond: each cost its loser one more try.
   */
  readonly lostRaces: number;
}

/**
 * The operations on one bucket's tokens. Time is an argument, in microseconds of the limiter's clock;
 * waits are microseconds from it. All of them are lock-free and linearizable, and a thread that
 * is terminated inside one leaves a valid word.
 */
export interface TokenKernel {
  /** Microseconds to wait before acting (0 is now), {@link LATER} or {@link NEVER}. */
  acquire(nowUs: number, tokens: number, maxWaitUs: number): number;
  /** `acquire` without a wait, and how things stand at its instant. */
  decide(nowUs: number, tokens: number): Outcome;
  /** Takes as many whole tokens as there are, at most `tokens`. */
  drain(nowUs: number, tokens: number): number;
  /** Gives tokens back; the bucket never gets fuller than full. */
  returnTokens(nowUs: number, tokens: number): void;
  /** Identifies what the last `acquire` of this thread that admitted took, for {@link cancel}. */
  receipt(): Receipt;
  /** Takes an `acquire` back if none came after it; otherwise its tokens lapse and this is false. */
  cancel(receipt: Receipt): boolean;
  /** Tokens in the bucket, negative in debt, Infinity where unlimited. */
  balance(nowUs: number): number;
  /** Microseconds until the bucket holds `tokens`; Infinity if it never will. */
  timeUntil(nowUs: number, tokens: number): number;
  /** The limit in force. */
  schedule(): Schedule;
}

/** A bucket with a word of its own. */
export interface BucketKernel extends TokenKernel {
  readonly name: KernelName;
  /** {@link TokenKernel.receipt}; what it says of the limit holds if the call had to wait. */
  receipt(): BucketReceipt;
  /** Puts another limit in force. Tokens and debt are kept, in tokens. */
  reconfigure(nowUs: number, next: Schedule): void;
  /** Counts so far, or undefined if they are not kept. */
  stats(): LimiterStats | undefined;
}

/** The outcome of one `acquire`, all of it from one word. */
export interface Outcome {
  readonly allowed: boolean;
  readonly burst: number;
  /** Tokens left, fractions included. */
  readonly balance: number;
  /** Microseconds until the same call can succeed; 0 if it did. */
  readonly retryUs: number;
  /** Microseconds until the bucket is full. */
  readonly fullUs: number;
}

/** Identifies an acquisition to the kernel that made it. */
export type Receipt = object;

/** The word that an acquisition wrote, and what it added to the word, both in halves of 32 bits. */
export interface WordReceipt {
  readonly low: number;
  readonly high: number;
  readonly costLow: number;
  readonly costHigh: number;
}

/** The receipt of a bucket with a word of its own. */
export interface BucketReceipt extends WordReceipt {
  /** Of the limit that the acquisition was made under. */
  readonly generation: number;
}
