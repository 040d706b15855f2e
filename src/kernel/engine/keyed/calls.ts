import { unitsBefore } from '../arithmetic';
import {
  AGAIN,
  DAMAGED,
  LATER,
  NEVER,
  NO_PLACE,
  WHEN_FULL_admit,
  WHEN_FULL_share,
} from '../constants';
import { failBecause, failed } from '../results';
import {
  begin,
  copyNobody,
  fewestHeld,
  instantUs,
  isNothing,
  mayChangeTier,
  longestUntil,
  lookOnce,
  renew,
  report,
  seenState,
  setInstant,
  takeOnce,
  wholeHeld,
} from './charge';
import { countAbove } from './claim';
import { end, learn } from './contents';
import { emptyOnce, giveBackOnce } from './return';
import { ANY, countPlaceless, NONE, ownEntry, useShared } from './table';

// The calls on the buckets of a table, or on limit sets, by the halves of a key's hash. In the module
// of limit sets, `charge`, `contents` and `return` are those of the folder limit-set. Each operation
// on an entry is attempted again if another thread was faster, or the limits have changed.

let whenFull: i32 = 0;

export function openCalls(full: i32): void {
  whenFull = full;
}

/** Counts a call whose key has no place, and lets it use the shared bucket; false if it may not. */
function isShared(): bool {
  countPlaceless();
  if (whenFull != WHEN_FULL_share) return false;
  useShared();
  return true;
}

/** Lets a key that has neither a place nor a share hold the full burst, or nothing. */
function holdNobody(): void {
  copyNobody(whenFull == WHEN_FULL_admit);
}

/** Microseconds from the caller's `nowUs`, if this call has read the clock again. */
function fromNow(wait: f64, nowUs: f64): f64 {
  return wait > 0 ? wait + (instantUs - nowUs) : wait;
}

/** {@link takeOnce}, until it is decided. */
function take(tokens: f64, maxWaitUs: f64, isCharge: bool, only: i64, reports: bool): f64 {
  while (true) {
    const wait = takeOnce(tokens, maxWaitUs, isCharge, only, reports);
    if (wait != AGAIN) return wait;
    if (!renew()) return DAMAGED;
  }
}

/** The same for a key with or without a place. */
function takeTokens(tokens: f64, maxWaitUs: f64, isCharge: bool, only: i64, reports: bool): f64 {
  const wait = take(tokens, maxWaitUs, isCharge, only, reports);
  return wait == NO_PLACE ? takeWithoutPlace(tokens, maxWaitUs, isCharge, only, reports) : wait;
}

function takeWithoutPlace(
  tokens: f64,
  maxWaitUs: f64,
  isCharge: bool,
  only: i64,
  reports: bool,
): f64 {
  if (isShared()) return take(tokens, maxWaitUs, isCharge, only, reports);
  // There is nothing to charge if keys without a place are refused or admitted.
  if (isCharge) return 0;
  holdNobody();
  if (reports) report(tokens, whenFull == WHEN_FULL_admit);
  return whenFull == WHEN_FULL_admit ? 0 : LATER;
}

/** Microseconds to wait, LATER, NEVER or a failure. */
export function acquire(high: u32, low: u32, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  // Compiled into this function: most calls need no other attempt.
  let wait = takeOnce(tokens, maxWaitUs, false, ANY, false);
  if (wait == AGAIN) wait = take(tokens, maxWaitUs, false, ANY, false);
  if (wait == NO_PLACE) wait = takeWithoutPlace(tokens, maxWaitUs, false, ANY, false);
  return end(fromNow(wait, nowUs));
}

/** Takes tokens without a maximum, even more than a bucket holds; LATER if the debt is too long. */
export function charge(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  return end(fromNow(takeTokens(tokens, Infinity, true, ANY, false), nowUs));
}

/** Like `acquire` without a wait; reports the state of every limit. */
export function decide(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  const wait = takeTokens(tokens, 0, false, ANY, true);
  // Nothing was charged, so no state was seen.
  if (wait == NEVER || isNothing(tokens)) {
    const looked = lookAnyway();
    if (looked != 0) return end(looked);
    report(tokens, wait == 0);
  }
  return end(wait);
}

/** Reads what the key's bucket holds, without creating it: 0, NO_PLACE or a failure. */
function look(): f64 {
  while (true) {
    const answer = lookOnce();
    if (answer != AGAIN) return answer;
    if (!renew()) return DAMAGED;
  }
}

/** The same for a key with or without a place: 0 or a failure. */
function lookAnyway(): f64 {
  const answer = look();
  if (answer != NO_PLACE) return answer;
  if (whenFull == WHEN_FULL_share) {
    useShared();
    return look();
  }
  holdNobody();
  return 0;
}

/** Takes at most `tokens` whole tokens; returns their number or a failure. */
export function drain(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  const most = floor(tokens);
  while (true) {
    let held: f64 = 0;
    let answer = look();
    if (answer == 0) {
      held = wholeHeld(most);
      // Refused, so that it leaves the key under its tier.
      const taken = held == 0 && mayChangeTier() ? min(most, 1) : held;
      // Only from the state seen, so that this takes every whole token in the bucket.
      answer = take(taken, 0, false, seenState, false);
      if (answer == 0) return end(taken);
    }
    if (answer == NO_PLACE) {
      if (isShared()) continue;
      holdNobody();
      return end(wholeHeld(most));
    }
    if (answer != LATER && answer != NEVER) return end(answer);
    if (held == 0) return end(0);
    // Otherwise the bucket has changed since it was seen.
  }
}

/** The fewest tokens under any limit, negative in debt; NaN after a failure. */
export function balance(high: u32, low: u32, nowUs: f64): f64 {
  if (!begin(high, low, nowUs)) return NaN;
  const answer = lookAnyway();
  if (answer != 0) failBecause(answer);
  return end(answer == 0 ? fewestHeld() : NaN);
}

export function timeUntil(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  const answer = lookAnyway();
  return end(answer == 0 ? fromNow(longestUntil(tokens), nowUs) : answer);
}

/**
 * Empties a key's bucket for `us` microseconds, at most as long as the longest debt, which is longer
 * than four years. A longer debt stays. Returns 0, a failure, or NO_PLACE, also if no limit knows a
 * debt, because all are unlimited.
 */
export function block(high: u32, low: u32, nowUs: f64, us: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  while (true) {
    const answer = emptyOnce(us);
    if (answer != AGAIN) return end(answer);
    if (!renew()) return end(DAMAGED);
  }
}

/**
 * Returns 1 if callers may be served earlier, 0 or a failure. Tokens for a key without a bucket lapse,
 * because they may belong to the shared bucket.
 */
export function returnTokens(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  return begin(high, low, nowUs) ? end(giveBack(tokens)) : failed;
}

/**
 * Fills a key's bucket under every limit: 1, 0 if there is no bucket or it is full, or a failure.
 */
export function reset(high: u32, low: u32, nowUs: f64): f64 {
  return returnTokens(high, low, nowUs, Infinity);
}

function giveBack(tokens: f64): f64 {
  while (true) {
    const entry = ownEntry();
    if (entry == NONE) return 0;
    const answer = giveBackOnce(entry, tokens);
    if (answer != AGAIN) return answer;
    if (!renew()) return DAMAGED;
  }
}

/** The number of buckets that are not full. */
export function entriesInUse(nowUs: f64): i32 {
  if (!learn()) return 0;
  setInstant(nowUs);
  return countAbove(unitsBefore(nowUs));
}
