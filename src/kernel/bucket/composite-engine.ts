import type { LimitOutcome, TokenIndex } from './kernel.ts';

/**
 * The engine's operations on the cell of a bucket with `count` limits, in addition to those common
 * to all buckets.
 */
export interface CompositeEngine {
  /** Sets the holder of the records that this thread claims and the slots that it takes. */
  holdAs(process: number): void;
  layLimit(
    cell: number,
    count: number,
    limit: number,
    nowUs: number,
    rate: number,
    burst: number,
    ticksPerToken: number,
    initial: number,
  ): number;
  acquireAll(cell: number, count: number, nowUs: number, tokens: number, maxWaitUs: number): number;
  chargeAll(cell: number, count: number, nowUs: number, tokens: number): number;
  decideAll(cell: number, count: number, nowUs: number, tokens: number): number;
  drainAll(cell: number, count: number, nowUs: number, tokens: number): number;
  returnToAll(cell: number, count: number, nowUs: number, tokens: number): number;
  /** NaN after a failure. */
  balanceAll(cell: number, count: number, nowUs: number): number;
  timeUntilAll(cell: number, count: number, nowUs: number, tokens: number): number;
  cancelAll(
    cell: number,
    count: number,
    low: number,
    high: number,
    beforeLow: number,
    beforeHigh: number,
    limit: number,
    tokens: number,
  ): number;
  beginReconfigure(cell: number, count: number, generation: number): number;
  propose(cell: number, limit: number, rate: number, burst: number, ticksPerToken: number): void;
  publishLimits(cell: number, count: number, nowUs: number): number;
  /** NaN after a failure. */
  dueUsOf(
    cell: number,
    count: number,
    limit: number,
    tokenLow: number,
    tokenHigh: number,
    fractionLow: number,
    fractionHigh: number,
  ): number;
  /** The reason for the last failure. */
  failureOfAll(): number;
}

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
