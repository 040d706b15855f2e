import { load32 } from './accesses';
import { joined, round, unitsBefore } from './arithmetic';
import {
  burst,
  capTicks,
  costOf,
  dueAt,
  findIndex,
  leaveLive,
  tickOf,
  ticksPerMicro,
  ticksPerToken,
  tokensOf,
  untilHeld,
} from './bucket/limit';
import {
  DAMAGED,
  INDEX_MASK,
  KEYED_live,
  LATER,
  NO_PLACE,
  TABLE_SPAN_TICKS,
  WHEN_FULL_admit,
  WHEN_FULL_share,
  ZERO_TIME_SHIFT,
} from './constants';
import { wholeTokens } from './decision';
import {
  ANY,
  begin,
  chargeKey,
  chargeShared,
  heldTicks,
  leaveHeld,
  look,
  lookAtShared,
  renew,
  seenState,
  STALE,
} from './keyed/charge';
import { countAbove, openClaims } from './keyed/claim';
import {
  forgetLimit,
  isInForce,
  known,
  learnLimit,
  limitIn,
  openLimits,
  read,
  recordOf,
  sinceOf,
  tier,
} from './keyed/limits';
import { heldBefore, instantUs, longestWait, setInstant } from './keyed/state';
import { cell, countPlaceless, openTable } from './keyed/table';
import { forgetEntry, leaveCost, leaveOutcome, leaveWord, word } from './results';

// The operations on a table's buckets, by the halves of a key's hash. An instance serves one table
// of one thread. Keys without a place share a bucket, unless `whenFull` says otherwise.

export { beginChange, publishChange, putLimit } from './keyed/change';
export { reclaimed } from './keyed/claim';
export { block, cancel, reset, returnTokens } from './keyed/return';
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

let whenFull: i32 = 0;

/** Locates the table and the records of its limits; false if the live one is invalid. */
export function open(
  table: usize,
  entries: i32,
  full: i32,
  records: usize,
  limits: i32,
  retryLimit: i32,
): bool {
  whenFull = full;
  openTable(table, entries);
  openClaims(retryLimit);
  openLimits(records, limits);
  return learnLimit();
}

/** {@link look} at a key with or without a place: 0, STALE or DAMAGED. */
function lookAnyway(): f64 {
  const looked = look();
  return looked == NO_PLACE ? lookWithoutPlace() : looked;
}

function lookWithoutPlace(): f64 {
  if (whenFull == WHEN_FULL_share) return lookAtShared();
  leaveHeld(whenFull == WHEN_FULL_admit ? capTicks : 0);
  return isInForce() ? 0 : STALE;
}

/** Microseconds to wait, LATER, NEVER or DAMAGED. */
export function acquire(high: u32, low: u32, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  // Runs once, and again for each change of the limits during the call.
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    const wait = take(tokens, maxWaitUs, false);
    if (wait != STALE) return fromNow(wait, nowUs);
  }
  return DAMAGED;
}

/** Takes tokens without a maximum, even more than a bucket holds; LATER beyond 8.9 years. */
export function charge(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    const wait = take(tokens, Infinity, true);
    if (wait != STALE) return fromNow(wait, nowUs);
  }
  return DAMAGED;
}

/** Microseconds from the caller's `nowUs`, if this call has read the clock again. */
function fromNow(wait: f64, nowUs: f64): f64 {
  return wait > 0 ? wait / ticksPerMicro + (instantUs - nowUs) : wait;
}

/** Ticks to wait under the limit of this call, LATER, NEVER, STALE or DAMAGED. */
function take(tokens: f64, maxWaitUs: f64, isCharge: bool): f64 {
  const cost = costOf(tokens);
  forgetEntry();
  leaveWord(0);
  leaveCost(cost << ZERO_TIME_SHIFT);
  if (cost == 0) return isInForce() ? 0 : STALE;
  const maxWait = maxWaitUs == 0 ? 0 : min(round(maxWaitUs * ticksPerMicro), longestWait());
  const most = isCharge ? TABLE_SPAN_TICKS : capTicks;
  const wait = chargeKey(cost, maxWait, ANY, most);
  if (wait != NO_PLACE) return wait;
  countPlaceless();
  if (whenFull == WHEN_FULL_share) return chargeShared(cost, maxWait, ANY, most);
  leaveHeld(whenFull == WHEN_FULL_admit ? capTicks : 0);
  if (!isInForce()) return STALE;
  // There is nothing to charge if keys without a place are refused or admitted.
  return isCharge || whenFull == WHEN_FULL_admit ? 0 : LATER;
}

export function decide(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    const wait = take(tokens, 0, false);
    const cost = costOf(tokens);
    let looked = wait;
    if (wait != STALE && wait != DAMAGED) {
      looked = cost == 0 || cost > capTicks ? lookAnyway() : 0;
    }
    if (looked == STALE) continue;
    if (looked == DAMAGED) return DAMAGED;
    leaveOutcome(nowUs, heldTicks as f64, cost as f64, wait == 0);
    return wait;
  }
  return DAMAGED;
}

/** Takes at most `tokens` whole tokens: returns their number or DAMAGED. */
export function drain(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  let isPlaced = true;
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    const most = min(floor(tokens), floor(burst));
    if (!isInForce()) continue;
    if (ticksPerToken == 0 || most <= 0) return most;
    let answer = isPlaced ? look() : lookWithoutPlace();
    let taken: f64 = 0;
    if (answer == 0) {
      taken = wholeTokens(heldTicks, ticksPerToken, most);
      if (taken == 0 || (!isPlaced && whenFull != WHEN_FULL_share)) return taken;
      // Only from the state seen, so that this takes every whole token in the bucket.
      const cost = costOf(taken);
      answer = isPlaced
        ? chargeKey(cost, 0, seenState, capTicks)
        : chargeShared(cost, 0, seenState, capTicks);
    }
    if (answer == 0) return taken;
    if (answer == DAMAGED) return DAMAGED;
    if (answer == NO_PLACE) {
      countPlaceless();
      isPlaced = false;
    }
  }
  return DAMAGED;
}

/** Tokens in the key's bucket, negative in debt; NaN after a failure. */
export function balance(high: u32, low: u32, nowUs: f64): f64 {
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    const looked = lookAnyway();
    if (looked == 0) return tokensOf(heldBefore(heldTicks) as f64);
    if (looked != STALE) return NaN;
  }
  return NaN;
}

export function timeUntil(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    const looked = lookAnyway();
    if (looked == 0) return untilHeld(nowUs, heldTicks as f64, costOf(tokens) as f64);
    if (looked != STALE) return looked;
  }
  return DAMAGED;
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
  forgetLimit();
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

/** The number of buckets that hold less than an unused one. */
export function entriesInUse(nowUs: f64): i32 {
  if (!learnLimit()) return 0;
  setInstant(nowUs);
  return countAbove(unitsBefore(nowUs));
}
