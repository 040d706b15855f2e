import type { Outcome } from '../kernel/bucket/kernel.ts';

/** The outcome of `decide`, in the terms of HTTP rate-limit headers. */
export interface Decision {
  /** Whether the tokens were taken. */
  readonly allowed: boolean;
  /** The most tokens that the limiter can grant at once. */
  readonly limit: number;
  /** Whole tokens left after this call. */
  readonly remaining: number;
  /** Milliseconds until a retry can succeed: 0 if the call did, Infinity if it never can. */
  readonly retryAfterMs: number;
  /** Milliseconds until the whole limit is available again, if no one takes any tokens. */
  readonly resetMs: number;
}

/** Converts a kernel's outcome to the API's terms. */
export function decisionOf({ allowed, burst, balance, retryUs, fullUs }: Outcome): Decision {
  return {
    allowed,
    limit: burst,
    // A balance of more ticks than a double can count may fall short of a whole number by one bit.
    remaining: Math.max(0, Math.floor(balance + balance * Number.EPSILON)),
    retryAfterMs: retryUs / 1000,
    resetMs: fullUs / 1000,
  };
}
