import { capTicks, fillAt, fillTicks, nearestTick } from '../bucket/limit';
import {
  FIRST_TICKS,
  LAST_TICKS,
  MARK_MASK,
  TABLE_SPAN_TICKS,
  TAG_MASK,
  ZERO_TIME_SHIFT,
} from '../constants';
import { floored } from '../decision';
import { carried } from './carry';
import { readClock } from './clock';
import { gapTicks, mark, restTicks } from './limits';

// The state word of a key's bucket, and the instant of the call that reads it.

/** The instant of the call, which may be later than the caller's `nowUs`. */
export let instantUs: f64 = 0;
/** The tick up to which tokens have arrived: a quantum bucket's last fill. */
export let nowTicks: i64 = 0;
/** The time since that fill. */
export let sinceFill: f64 = 0;

/**
 * Beyond 2^53 ticks (4.4 years) the product is rounded to a double. It stays monotonic, and its
 * error is at most that of the clock's own microseconds at that age.
 */
export function setInstant(nowUs: f64): void {
  instantUs = nowUs;
  const nearest = nearestTick(nowUs);
  // NaN counts as a clock that has stepped back as far as possible.
  const tick =
    nearest > (FIRST_TICKS as f64) ? min(nearest, LAST_TICKS as f64) : (FIRST_TICKS as f64);
  const counted = fillAt(tick);
  sinceFill = tick - counted;
  nowTicks = (counted as i64) - gapTicks;
}

/** Reads the clock again for the instant: a call never moves back in time. */
export function renewInstant(): void {
  setInstant(max(instantUs, readClock()));
}

/** The longest wait, or the longest debt, in ticks. */
export function longestWait(): f64 {
  return min(TABLE_SPAN_TICKS, LAST_TICKS - nowTicks) as f64;
}

/** The live state with a zero-time under the limit of this call. */
export function stateOf(zeroTime: i64, tag: i32): i64 {
  return (zeroTime << ZERO_TIME_SHIFT) | ((mark | tag) as i64);
}

/** Whether a live state counts under the limit of this call. */
export function isOurs(state: i64): bool {
  return ((state as i32) & MARK_MASK & ~(TAG_MASK as i32)) == mark;
}

/**
 * The zero-time of a state that is up to date under the limit of this call, raised to its floor. The
 * tier changes at an instant after all charges that the state counts.
 */
export function zeroTimeOf(state: i64): i64 {
  if (isOurs(state)) return floored(state >> ZERO_TIME_SHIFT, nowTicks, capTicks);
  renewInstant();
  return floored(carried(state, instantUs), nowTicks, capTicks);
}

/** The zero-time of a key that took nothing since the table's creation. */
export function restNow(): i64 {
  return max(nowTicks - capTicks, restTicks);
}

// In windows, a zero-time is the window's fill plus the count. If a limit is shorter than the fill,
// a charge of more than is left goes on in the next windows.

/** The ticks taken from the present window on. A lowered limit may be less than the count. */
function owedAt(zeroTime: i64): i64 {
  const since = zeroTime - nowTicks + capTicks;
  const ahead = since / (fillTicks as i64);
  return ahead == 0 ? min(since, capTicks) : since - ahead * gapTicks;
}

function zeroTimeOwing(owed: i64): i64 {
  const later = owed <= capTicks ? 0 : (owed - 1) / capTicks;
  return nowTicks - capTicks + owed + later * gapTicks;
}

/** A floored zero-time after a cost. */
export function advanced(zeroTime: i64, cost: i64): i64 {
  return gapTicks == 0 ? zeroTime + cost : zeroTimeOwing(owedAt(zeroTime) + cost);
}

/** What a bucket with these ticks holds, in ticks that were not taken. */
export function heldBefore(held: i64): i64 {
  return gapTicks == 0 ? held : capTicks - owedAt(nowTicks - held);
}

/** The ticks that can be taken in a time. */
export function costOfSpan(ticks: i64): i64 {
  return gapTicks == 0 ? ticks : ticks - (ticks / (fillTicks as i64)) * gapTicks;
}
