import { highOf, round } from '../arithmetic';
import { DAMAGED, LATER, NEVER, NO_PLACE, WHEN_FULL_share } from '../constants';
import { wholeTokens } from '../decision';
import {
  begin,
  countPlaceless,
  end,
  lookAnyway,
  lookWithoutPlace,
  whenFull,
  withoutPlace,
} from './keyed-composite';
import { ANY, chargeKey, chargeShared, look, seenState } from './charge';
import { count, isNothing, leastBurst, useLimit } from './limits';
import { aim, aimToReport, BLOCK, CHARGE, dueTick, heldUnder, reportAll, TAKE } from './survey';
import { known } from '../keyed/limits';
import { instantUs, longestWait, nowTicks } from '../keyed/state';
import { ticksPerMicro, ticksPerToken } from '../bucket/limit';
import { failed } from '../results';

// Takes tokens of a key from all of its limits, or from none.

function inMicros(wait: f64, nowUs: f64): f64 {
  return wait > 0 ? wait / ticksPerMicro + (instantUs - nowUs) : wait;
}

/** Returns microseconds to wait, LATER, NEVER or a failure. */
export function acquire(high: u32, low: u32, nowUs: f64, tokens: f64, maxWaitUs: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  aim(TAKE, tokens, min(round(maxWaitUs * ticksPerMicro), longestWait()), 0);
  const wait = chargeKey(tokens, false, ANY);
  return end(inMicros(wait == NO_PLACE ? withoutPlace() : wait, nowUs));
}

/** Takes tokens without a maximum, even more than a bucket holds; LATER beyond 4.4 years. */
export function charge(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  aim(CHARGE, tokens, longestWait(), 0);
  const wait = chargeKey(tokens, true, ANY);
  if (wait != NO_PLACE) return end(inMicros(wait, nowUs));
  const answer = withoutPlace();
  // There is nothing to charge if keys without a place are refused or admitted.
  return end(whenFull == WHEN_FULL_share ? inMicros(answer, nowUs) : 0);
}

/**
 * Empties a key's bucket for `us` microseconds, at most 4.4 years; a longer debt stays. Returns 0,
 * NO_PLACE or a failure.
 */
export function block(high: u32, low: u32, nowUs: f64, us: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  const ticks = min(round(us * ticksPerMicro), longestWait()) as i64;
  aim(BLOCK, 0, 0, nowTicks + ticks);
  return end(chargeKey(1, true, ANY));
}

/** Like `acquire` without a wait; reports the state of every limit. */
export function decide(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  if (!begin(high, low, nowUs)) return failed;
  aimToReport(nowUs, tokens);
  let wait = chargeKey(tokens, false, ANY);
  if (wait == NO_PLACE) {
    wait = withoutPlace();
    if (whenFull == WHEN_FULL_share) return end(wait);
    lookWithoutPlace();
  } else if (wait == NEVER || isNothing(tokens)) {
    if (lookAnyway() == DAMAGED) return end(DAMAGED);
  } else return end(wait);
  reportAll(nowUs, tokens, wait == 0);
  return end(wait);
}

/** The whole tokens that the spare slot holds under every limit, at most `most`. */
function wholeHeld(most: f64): f64 {
  let whole = most;
  for (let i = 0; i < count; i++) {
    useLimit(i);
    if (ticksPerToken != 0) whole = wholeTokens(heldUnder(i), ticksPerToken, whole);
  }
  return whole;
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
      if (taken == 0) return end(0);
      aim(TAKE, taken, 0, 0);
      // Only from the state seen, so that this takes every whole token in the bucket.
      answer = isPlaced ? chargeKey(taken, false, seenState) : chargeShared(seenState);
    }
    if (answer == 0) return end(taken);
    if (answer == DAMAGED) return end(DAMAGED);
    if (answer == NO_PLACE) {
      countPlaceless();
      isPlaced = false;
    }
  }
  return end(0);
}

// The last admission: the tick at which its tokens are due, and the word of its limits.

export function dueLow(): i32 {
  return dueTick as i32;
}

export function dueHigh(): i32 {
  return highOf(dueTick);
}

export function limitsWord(): i32 {
  return known;
}
