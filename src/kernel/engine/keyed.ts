import { add64, load64 } from './accesses';
import { joined, round } from './arithmetic';
import {
  DAMAGED,
  KEYED_shared,
  LATER,
  NO_PLACE,
  TAG_BITS,
  WHEN_FULL_admit,
  WHEN_FULL_share,
} from './constants';
import { wholeTokens } from './decision';
import { ANY, chargeKey, heldTicks, leaveHeld, look, seenState } from './keyed/charge';
import { beginClaims, openClaims } from './keyed/claim';
import { openChanges } from './keyed/change';
import { learnLimit, openLimits, originTicks } from './keyed/limits';
import { floorState, instantUs, longestWait, setInstant } from './keyed/state';
import { countAbove, openTable, seek } from './keyed/table';
import { openWords } from './keyed/word';
import {
  burst,
  capTicks,
  costOf,
  originUs,
  ticksPerMicro,
  ticksPerToken,
  tokensOf,
  untilHeld,
} from './bucket/limit';
import { beginRaces, forgetEntry, leaveCost, leaveOutcome, leaveWord } from './results';

// The operations on a table's buckets, by the halves of a key's hash. An instance serves one table
// of one thread. After NO_PLACE, the caller uses the shared bucket.

export { beginChange, publishChange, putLimit } from './keyed/change';
export { reclaimed } from './keyed/claim';
export { holdAs } from './holder';
export { block, charge } from './keyed/debt';
export { useTier } from './keyed/limits';
export { cancel, returnTokens, reset } from './keyed/return';
export { longestProbe } from './keyed/table';
export {
  lostRaces,
  outcomeBalance,
  outcomeBurst,
  outcomeFullUs,
  outcomeRetryUs,
  receiptCostHigh,
  receiptCostLow,
  receiptEntry,
  receiptHigh,
  receiptLow,
  receiptVersion,
} from './results';

let table: usize = 0;
let whenFull: i32 = 0;

/** Locates the table and the records of its limits; false if the live one is invalid. */
export function open(
  cell: usize,
  entries: i32,
  full: i32,
  records: usize,
  limits: i32,
  patience: i32,
): bool {
  table = cell;
  whenFull = full;
  openTable(cell, entries);
  openWords(cell);
  openClaims(cell, patience);
  openLimits(cell, records, limits);
  openChanges(cell);
  return learnLimit();
}

export function begin(high: u32, low: u32, nowUs: f64): void {
  seek(high, low);
  beginClaims();
  beginRaces();
  learnLimit();
  setInstant(nowUs);
}

/** The ticks that a key without a place holds if there is no shared bucket. */
function heldWithoutPlace(): i64 {
  return whenFull == WHEN_FULL_admit ? capTicks : 0;
}

/** Whether {@link look} has an answer, or keys without a place have a fixed one. */
function lookAnyway(): bool {
  if (look()) return true;
  leaveHeld(heldWithoutPlace());
  return whenFull != WHEN_FULL_share;
}

export function withoutPlace(): f64 {
  add64(table + KEYED_shared, 1);
  if (whenFull == WHEN_FULL_share) return NO_PLACE;
  leaveHeld(heldWithoutPlace());
  return whenFull == WHEN_FULL_admit ? 0 : LATER;
}

/** Microseconds to wait, LATER, NEVER, NO_PLACE or DAMAGED. */
export function acquire(high: u32, low: u32, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  begin(high, low, nowUs);
  return take(nowUs, costOf(tokens), maxWaitUs);
}

function take(nowUs: f64, cost: i64, maxWaitUs: f64): f64 {
  forgetEntry();
  leaveWord(0);
  leaveCost(cost << TAG_BITS);
  if (cost == 0) return 0;
  const maxWait = maxWaitUs == 0 ? 0 : min(round(maxWaitUs * ticksPerMicro), longestWait());
  const wait = chargeKey(cost, maxWait, ANY, capTicks);
  if (wait > 0) return wait / ticksPerMicro + (instantUs - nowUs);
  return wait == NO_PLACE ? withoutPlace() : wait;
}

export function decide(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  begin(high, low, nowUs);
  const cost = costOf(tokens);
  const wait = take(nowUs, cost, 0);
  if (wait == NO_PLACE || wait == DAMAGED) return wait;
  if ((cost == 0 || cost > capTicks) && !lookAnyway()) return NO_PLACE;
  leaveOutcome(nowUs, heldTicks as f64, cost as f64, wait == 0);
  return wait;
}

/** Takes at most `tokens` whole tokens: returns their number, NO_PLACE or DAMAGED. */
export function drain(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  begin(high, low, nowUs);
  const most = min(floor(tokens), floor(burst));
  if (ticksPerToken == 0) return most;
  while (most > 0) {
    let taken: f64 = 0;
    let wait: f64 = NO_PLACE;
    if (look()) {
      taken = wholeTokens(heldTicks, ticksPerToken, most);
      if (taken == 0) return 0;
      // Only from the state seen, so that this takes every whole token in the bucket.
      wait = chargeKey(costOf(taken), 0, seenState, capTicks);
    }
    if (wait == NO_PLACE) {
      if (withoutPlace() == NO_PLACE) return NO_PLACE;
      return wholeTokens(heldTicks, ticksPerToken, most);
    }
    if (wait == 0) return taken;
    if (wait == DAMAGED) return DAMAGED;
  }
  return 0;
}

/** Tokens in the key's bucket, negative in debt; NaN for NO_PLACE. */
export function balance(high: u32, low: u32, nowUs: f64): f64 {
  begin(high, low, nowUs);
  return lookAnyway() ? tokensOf(heldTicks as f64) : NaN;
}

export function timeUntil(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  begin(high, low, nowUs);
  return lookAnyway() ? untilHeld(nowUs, heldTicks as f64, costOf(tokens) as f64) : NO_PLACE;
}

/** The instant at which an admission's tokens are due, by the word that it wrote. */
export function dueUs(wordLow: i32, wordHigh: i32): f64 {
  learnLimit();
  const ticks = (joined(wordLow, wordHigh) >> TAG_BITS) - originTicks;
  return originUs + (ticks as f64) / ticksPerMicro;
}

/** The number of buckets that are not full. */
export function entriesInUse(nowUs: f64): i32 {
  learnLimit();
  setInstant(nowUs);
  return countAbove(floorState());
}

/** The number of calls whose key found no place. */
export function placeless(): f64 {
  return load64(table + KEYED_shared) as f64;
}
