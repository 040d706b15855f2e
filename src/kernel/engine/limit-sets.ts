import { exchange64, load64, store32, writeF64, writeI64 } from './accesses';
import { ticksUp, unitsBefore } from './arithmetic';
import { tokensOf, untilHeld } from './bucket/limit';
import { claimUnseen, putF64, putI64 } from './claim';
import {
  KEYED_claims,
  KEYED_live,
  KEYED_swept,
  LATER,
  NEVER,
  NO_PLACE,
  RECORD_COUNT,
  SET_LIMIT_rest,
  SET_RECORD_sinceUs,
  SET_SLOT_chargedUs,
  SET_SLOT_holding,
  SET_SLOT_lastUs,
  WHEN_FULL_admit,
  WHEN_FULL_share,
} from './constants';
import { wholeTokens } from './decision';
import { countAbove, openClaims } from './keyed/claim';
import { freed } from './keyed/contents';
import {
  BYTES,
  countPlaceless,
  isHeld,
  isLive,
  openTable,
  shared,
  start,
  STATE,
} from './keyed/table';
import {
  ANY,
  begin,
  chargeKey,
  isNothing,
  look,
  seenSlot,
  seenState,
  useShared,
} from './limit-set/charge';
import {
  aim,
  aimToReport,
  BLOCK,
  CHARGE,
  copyNobody,
  heldUnder,
  isPromised,
  queueUs,
  reportAll,
  TAKE,
  tokens,
} from './limit-set/decision';
import {
  costOf,
  count,
  fill,
  instantUs,
  known,
  learn,
  leastBurst,
  limitIn,
  live,
  openRecords,
  priceOf,
  recordOf,
  useLimit,
} from './limit-set/record';
import {
  end,
  leave,
  openSlots,
  openStates,
  slotAt,
  slotOf,
  stateAfter,
  zeroTimeAt,
} from './limit-set/slot';
import { failBecause, failed } from './results';

// The operations on a limit set, or on a key of a keyed one, by the halves of the key's hash. A set
// without keys has no entry but the shared one, which also serves keys without a place.
// docs/algorithms-limit-sets.md explains the protocol and proves it.

let whenFull: i32 = 0;

/** Turns to a cell; false if its limits are invalid. */
export function open(
  table: usize,
  entries: i32,
  full: i32,
  records: usize,
  limits: i32,
  retryLimit: i32,
  list: usize,
  places: i32,
  slots: usize,
  slotBytes: usize,
): bool {
  whenFull = full;
  openTable(table, entries);
  const total = entries + 1 + places;
  openSlots(table, list, places, slots, total, slotBytes, limits);
  openStates(total);
  openClaims(retryLimit);
  openRecords(records, limits);
  return learn();
}

/** Puts the first record in force, in cleared memory. */
export function lay(cell: usize): void {
  store32(cell + KEYED_live, RECORD_COUNT);
  store32(cell + KEYED_swept, RECORD_COUNT);
}

/** Writes a limit of a new set, in cleared memory. Its flow at rate 0 is 1. */
export function layLimit(
  cell: usize,
  i: i32,
  nowUs: f64,
  rate: f64,
  burst: f64,
  perToken: f64,
): void {
  claimUnseen(cell + KEYED_claims);
  const at = limitIn(recordOf(0), i);
  fill(at, rate, burst, perToken, rate > 0 ? rate : 1);
  putI64(at + SET_LIMIT_rest, -ticksUp(burst, perToken));
  putF64(recordOf(0) + SET_RECORD_sinceUs, nowUs);
}

/** Lets the shared entry hold `initial` tokens under a limit, in cleared memory. */
export function fillShared(i: i32, initial: f64): void {
  const slot = slotAt(slotOf(shared, 0));
  const limit = limitIn(live, i);
  writeI64(slot + SET_SLOT_holding, known as i64);
  writeF64(slot + SET_SLOT_lastUs, -Infinity);
  writeF64(slot + SET_SLOT_chargedUs, -Infinity);
  writeI64(zeroTimeAt(slot, i), -costOf(initial, priceOf(limit)));
}

/** The answer for a key without a place. */
function withoutPlace(tokens: f64, mayExceed: bool): f64 {
  countPlaceless();
  if (whenFull == WHEN_FULL_share) {
    useShared();
    return chargeKey(tokens, mayExceed, ANY);
  }
  return whenFull == WHEN_FULL_admit ? 0 : LATER;
}

/** Microseconds from the caller's `nowUs`, if this call has read the clock again. */
function fromNow(wait: f64, nowUs: f64): f64 {
  return wait > 0 ? wait + (instantUs - nowUs) : wait;
}

/** Returns microseconds to wait, LATER, NEVER or a failure. */
export function acquire(high: u32, low: u32, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  aim(TAKE, tokens, maxWaitUs, 0);
  const wait = chargeKey(tokens, false, ANY);
  return end(fromNow(wait == NO_PLACE ? withoutPlace(tokens, false) : wait, nowUs));
}

/** Takes tokens without a maximum, even more than a bucket holds; LATER beyond 4.4 years. */
export function charge(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  aim(CHARGE, tokens, Infinity, 0);
  const wait = chargeKey(tokens, true, ANY);
  if (wait != NO_PLACE) return end(fromNow(wait, nowUs));
  const answer = withoutPlace(tokens, true);
  // There is nothing to charge if keys without a place are refused or admitted.
  return end(whenFull == WHEN_FULL_share ? fromNow(answer, nowUs) : 0);
}

/**
 * Empties a key's bucket for `us` microseconds, at most 4.4 years; a longer debt stays. Returns 0, a
 * failure, or NO_PLACE, also if all limits are unlimited and know no debt.
 */
export function block(high: u32, low: u32, nowUs: f64, us: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  aim(BLOCK, 0, 0, us);
  return end(isNothing(1) ? NO_PLACE : chargeKey(1, true, ANY));
}

/** Copies the contents of a key with or without a place to the spare slot: 0 or a failure. */
function lookAnyway(): f64 {
  const answer = look();
  return answer == NO_PLACE ? lookWithoutPlace() : answer;
}

function lookWithoutPlace(): f64 {
  if (whenFull == WHEN_FULL_share) {
    useShared();
    return look();
  }
  copyNobody(whenFull == WHEN_FULL_admit);
  return 0;
}

/** Like `acquire` without a wait; reports the state of every limit. */
export function decide(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  aimToReport(tokens);
  let wait = chargeKey(tokens, false, ANY);
  const isPlaced = wait != NO_PLACE;
  if (!isPlaced) wait = withoutPlace(tokens, false);
  if (!isPlaced && whenFull != WHEN_FULL_share) {
    lookWithoutPlace();
  } else if (wait == NEVER || isNothing(tokens)) {
    const looked = lookAnyway();
    if (looked != 0) return end(looked);
  } else return end(wait);
  reportAll(tokens, wait == 0);
  return end(wait);
}

/** Takes at most `tokens` whole tokens; returns their number or a failure. */
export function drain(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  const most = min(floor(tokens), floor(leastBurst));
  let isPlaced = true;
  while (most > 0) {
    let answer = isPlaced ? look() : lookWithoutPlace();
    let taken: f64 = 0;
    if (answer == 0) {
      taken = wholeHeld(most);
      if (!isPlaced && whenFull != WHEN_FULL_share) return end(taken);
      aim(TAKE, taken, 0, 0);
      // Only from the state seen, so that this takes every whole token in the bucket.
      answer = chargeKey(taken, false, seenState);
    }
    if (answer == 0) return end(taken);
    if (answer == NO_PLACE) {
      countPlaceless();
      isPlaced = false;
    } else if (answer != LATER && answer != NEVER) return end(answer);
  }
  return end(0);
}

/** The whole tokens that the spare slot holds under every limit, at most `most`. */
function wholeHeld(most: f64): f64 {
  if (isPromised(seenSlot)) return 0;
  let whole = most;
  for (let i = 0; i < count; i++) {
    const price = priceOf(limitIn(live, i)) as f64;
    if (price != 0) whole = wholeTokens(heldUnder(i), price, whole);
  }
  return whole;
}

/** The fewest tokens under any limit, negative in debt; NaN after a failure. */
export function balance(high: u32, low: u32, nowUs: f64): f64 {
  if (!begin(high, low, nowUs)) return NaN;
  const answer = lookAnyway();
  if (answer != 0) {
    failBecause(answer);
    return end(NaN);
  }
  let least = Infinity;
  for (let i = 0; i < count; i++) {
    useLimit(limitIn(live, i));
    least = min(least, tokensOf(heldUnder(i) as f64));
  }
  return end(least);
}

export function timeUntil(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  const answer = lookAnyway();
  if (answer != 0) return end(answer);
  // No token is granted before those that are promised.
  let longest = isNothing(tokens) ? 0 : max<f64>(0, queueUs);
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    useLimit(limit);
    const wanted = costOf(tokens, priceOf(limit));
    longest = max(longest, untilHeld(nowUs, heldUnder(i) as f64, wanted as f64));
  }
  return end(longest);
}

/** The number of buckets that are not full. */
export function entriesInUse(nowUs: f64): i32 {
  return learn() ? countAbove(unitsBefore(nowUs)) : 0;
}

/**
 * Changes the state of every entry, but none of its contents, so that no exchange succeeds that was
 * prepared before.
 */
export function fence(): void {
  for (let entry = start; entry <= shared; entry += BYTES) {
    while (true) {
      const state = load64(entry + STATE);
      const isEntryLive = entry == shared || isLive(state);
      if (!isEntryLive && !isHeld(state)) break;
      const slot = slotOf(entry, state);
      const next = isEntryLive ? stateAfter(state, slot, 1) : freed(state);
      if (exchange64(entry + STATE, state, next) == state) break;
    }
  }
}

/** Drops the state of a region, before the instance turns to another. */
export function leaveRegion(): void {
  leave();
}

// The exports of the module for limit sets, keyed and not.

export { holdAs } from './limit-set/slot';
export { reclaimed } from './keyed/claim';
export { longestProbe, placeless } from './keyed/table';
export { beginChange, publishChange, putLimit } from './keyed/change';
export {
  addedHigh,
  addedLow,
  cancel,
  dueUs,
  indexHigh,
  indexLow,
  limitsWord,
  movedUs,
  promiseAnchor,
  promiseVirtual,
  receiptTokens,
  reset,
  returnTokens,
  stage,
  wasDue,
} from './limit-set/return';
export { failure, failedExchanges, receiptEntry, receiptVersion } from './results';
