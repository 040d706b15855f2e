import type { LimitOutcome, TokenIndex } from './kernel.ts';

/** The last call's report on each limit, in this thread. */
export const notes: { readonly outcomes: LimitOutcome[]; readonly indices: TokenIndex[] } = {
  outcomes: [],
  indices: [],
};

/** The engine's imports of composite/notes.ts. */
export const NOTES = {
  report(limit: number, burst: number, balance: number, retryUs: number, fullUs: number): void {
    notes.outcomes[limit] = { burst, balance, retryUs, fullUs };
  },
  promise(
    limit: number,
    low: number,
    high: number,
    fractionLow: number,
    fractionHigh: number,
  ): void {
    notes.indices[limit] = { low, high, fractionLow, fractionHigh };
  },
};
