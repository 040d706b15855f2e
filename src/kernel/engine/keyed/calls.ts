import { unitsBefore } from '../arithmetic';
import { LATER, NEVER, NO_PLACE, WHEN_FULL_admit, WHEN_FULL_share } from '../constants';
import { failBecause, failed } from '../results';
import {
  begin,
  copyNobody,
  fewestHeld,
  instantUs,
  isNothing,
  longestUntil,
  look,
  report,
  seenState,
  setInstant,
  takeAndReport,
  takeTokens,
  wholeHeld,
} from './charge';
import { countAbove } from './claim';
import { end, learn } from './contents';
import { empty, giveBack } from './return';
import { ANY, countPlaceless, useShared } from './table';

// The calls on the buckets of a table, or on limit sets, by the halves of a key's hash. In the module
// of limit sets, `charge`, `contents` and `return` are those of the folder limit-set.

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

/** The answer for a key that has neither a place nor a share. */
function answerNobody(): f64 {
  return whenFull == WHEN_FULL_admit ? 0 : LATER;
}

/** Microseconds from the caller's `nowUs`, if this call has read the clock again. */
function fromNow(wait: f64, nowUs: f64): f64 {
  return wait > 0 ? wait + (instantUs - nowUs) : wait;
}

/** {@link takeTokens} of a key with or without a place. */
function takeAnyway(tokens: f64, maxWaitUs: f64, isCharge: bool): f64 {
  while (true) {
    const wait = takeTokens(tokens, maxWaitUs, isCharge, ANY);
    if (wait != NO_PLACE) return wait;
    // There is nothing to charge if keys without a place are refused or admitted.
    if (!isShared()) return isCharge ? 0 : answerNobody();
  }
}

/** Microseconds to wait, LATER, NEVER or a failure. */
export function acquire(high: u32, low: u32, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  return end(fromNow(takeAnyway(tokens, maxWaitUs, false), nowUs));
}

/** Takes tokens without a maximum, even more than a bucket holds; LATER if the debt is too long. */
export function charge(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  return end(fromNow(takeAnyway(tokens, Infinity, true), nowUs));
}

/** Like `acquire` without a wait; reports the state of every limit. */
export function decide(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  let wait = takeAndReport(tokens);
  if (wait == NO_PLACE) {
    if (!isShared()) {
      copyNobody(whenFull == WHEN_FULL_admit);
      report(tokens, whenFull == WHEN_FULL_admit);
      return end(answerNobody());
    }
    wait = takeAndReport(tokens);
  }
  // Nothing was charged, so no state was seen.
  if (wait == NEVER || isNothing(tokens)) {
    const looked = lookAnyway();
    if (looked != 0) return end(looked);
    report(tokens, wait == 0);
  }
  return end(wait);
}

/** Reads what a key with or without a place holds: 0 or a failure. */
function lookAnyway(): f64 {
  const answer = look();
  if (answer != NO_PLACE) return answer;
  if (whenFull == WHEN_FULL_share) {
    useShared();
    return look();
  }
  copyNobody(whenFull == WHEN_FULL_admit);
  return 0;
}

/** Takes at most `tokens` whole tokens; returns their number or a failure. */
export function drain(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  const most = floor(tokens);
  while (true) {
    let answer = look();
    let taken: f64 = 0;
    if (answer == 0) {
      taken = wholeHeld(most);
      // Only from the state seen, so that this takes every whole token in the bucket.
      answer = takeTokens(taken, 0, false, seenState);
    }
    if (answer == 0) return end(taken);
    if (answer == NO_PLACE) {
      if (isShared()) continue;
      copyNobody(whenFull == WHEN_FULL_admit);
      return end(wholeHeld(most));
    }
    if (answer != LATER && answer != NEVER) return end(answer);
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
  return begin(high, low, nowUs) ? end(empty(us)) : failed;
}

/**
 * Returns 1 if promised tokens have moved up, 0 or a failure. Tokens for a key without a bucket lapse,
 * because they may belong to the shared bucket.
 */
export function returnTokens(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  return begin(high, low, nowUs) ? end(giveBack(tokens, false)) : failed;
}

/**
 * Fills a key's bucket under every limit: 1, 0 if there is no bucket or it is full, or a failure.
 */
export function reset(high: u32, low: u32, nowUs: f64): f64 {
  return begin(high, low, nowUs) ? end(giveBack(0, true)) : failed;
}

/** The number of buckets that are not full. */
export function entriesInUse(nowUs: f64): i32 {
  if (!learn()) return 0;
  setInstant(nowUs);
  return countAbove(unitsBefore(nowUs));
}
