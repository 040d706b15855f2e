import { load32 } from './accesses';
import { joined } from './arithmetic';
import { dueAt, findIndex, leaveLive, tickOf } from './bucket/limit';
import { INDEX_MASK, KEYED_live, ZERO_TIME_SHIFT } from './constants';
import { openCalls } from './keyed/calls';
import { openClaims } from './keyed/claim';
import { learnLimit, openLimits, read, tier } from './keyed/limits';
import { know, known, limitIn, recordOf, sinceOf, UNKNOWN } from './keyed/records';
import { cell, openTable } from './keyed/table';
import { word } from './results';

// The module for tables of buckets. An instance serves one table of one thread. Keys without a place
// share a bucket, unless `whenFull` says otherwise.

export {
  acquire,
  balance,
  block,
  charge,
  decide,
  drain,
  entriesInUse,
  reset,
  returnTokens,
  timeUntil,
} from './keyed/calls';
export { beginChange, publishChange, putLimit } from './keyed/change';
export { reclaimed } from './keyed/claim';
export { cancel } from './keyed/return';
export { useTier } from './keyed/limits';
export { liveEpoch, liveSinceUs } from './bucket/limit';
export { fractionHigh, fractionLow, indexHigh, indexLow } from './bucket/limit';
export { longestProbe, placeless } from './keyed/table';
export {
  failedExchanges,
  outcomeBalance,
  outcomeBurst,
  outcomeFullUs,
  outcomeNextUs,
  outcomeRetryUs,
  receiptCostHigh,
  receiptCostLow,
  receiptEntry,
  receiptHigh,
  receiptLow,
  receiptVersion,
} from './results';

/** Locates the table and the records of its limits; false if the live one is invalid. */
export function open(
  table: usize,
  entries: i32,
  full: i32,
  records: usize,
  limits: i32,
  retryLimit: i32,
): bool {
  openCalls(full);
  openTable(table, entries);
  openClaims(retryLimit);
  openLimits(records, limits);
  return learnLimit();
}

// Reserved tokens. Each limit counts its tokens as they arrive: see bucket/limit.ts.

/** Computes the index of the last admission's last token, which is not due yet. */
export function findPromise(): void {
  findIndex(word >> ZERO_TIME_SHIFT);
}

/** The word of the limits that admitted it, and which of them. */
export function promiseEpoch(): i32 {
  return known;
}

export function promiseLimit(): i32 {
  return tier;
}

/** When the token with an index is due under a limit in force; NaN if the limits are invalid. */
export function dueUs(
  limit: i32,
  tokenLow: i32,
  tokenHigh: i32,
  fractionLow: i32,
  fractionHigh: i32,
): f64 {
  know(UNKNOWN);
  while (true) {
    const live = load32(cell + KEYED_live);
    const record = recordOf(live & INDEX_MASK);
    const isSound = read(limitIn(record, limit));
    leaveLive(live, sinceOf(record));
    if (load32(cell + KEYED_live) != live) continue;
    if (!isSound) return NaN;
    const token = tickOf(joined(tokenLow, tokenHigh), joined(fractionLow, fractionHigh));
    return dueAt(token, i64.MAX_VALUE);
  }
}
