import type { Outcome } from '../kernel/bucket/kernel.ts';

/** What a limiter answered, in the terms of HTTP rate-limit headers. */
export interface Decision {
  /** Whether the tokens were taken. */
  readonly allowed: boolean;
  /** The most tokens that the limiter ever grants at once. */
  readonly limit: number;
  /** Whole tokens left after this call. */
  readonly remaining: number;
  /** Milliseconds until the same call can succeed: 0 if it did, Infinity if it never will. */
  readonly retryAfterMs: number;
  /** Milliseconds until the limiter is as good as new. */
  readonly resetMs: number;
}

/** A kernel's verdict in the words of the API. */
export function decisionOf({ allowed, burst, balance, retryUs, fullUs }: Outcome): Decision {
  return {
    allowed,
    limit: burst,
    // A whole number of more ticks than a double counts may be short of it by the last bit.
    remaining: Math.max(0, Math.floor(balance + balance * Number.EPSILON)),
    retryAfterMs: retryUs / 1000,
    resetMs: fullUs / 1000,
  };
}
