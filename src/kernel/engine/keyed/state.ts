import { FIRST_TICKS, LAST_TICKS, MAX_SPAN_TICKS, TAG_BITS, TAG_MASK } from '../constants';
import { floored } from '../decision';
import { forgotten } from './claim';
import { readClock } from './clock';
import { mostTicks, originTicks } from './limits';
import { capTicks, fillAt, nearestTick } from '../bucket/limit';

// The state word of a key's bucket, and the instant of the call that reads it.

/** The instant of the call, which may be later than the caller's `nowUs`. */
export let instantUs: f64 = 0;
/** The tick up to which tokens have arrived: a quantum bucket's last fill. */
export let nowTicks: i64 = 0;
/** The time since that fill. */
export let sinceFill: f64 = 0;

/**
 * Beyond 2^53 ticks (25 days) the product is rounded to a double. It stays monotonic, and its error
 * is at most that of the clock's own microseconds at that age.
 */
export function setInstant(nowUs: f64): void {
  instantUs = nowUs;
  const nearest = nearestTick(nowUs);
  // NaN counts as a clock that has stepped back as far as possible.
  const tick =
    nearest > (FIRST_TICKS as f64) ? min(nearest, LAST_TICKS as f64) : (FIRST_TICKS as f64);
  const counted = fillAt(tick);
  sinceFill = tick - counted;
  nowTicks = counted as i64;
  // The origin is 0 until a change of the limits moves it.
  if (originTicks != 0) nowTicks = max(min(nowTicks + originTicks, LAST_TICKS), FIRST_TICKS);
}

/** Reads the clock again for the instant: a call never moves back in time. */
export function renewInstant(): void {
  setInstant(max(instantUs, readClock()));
}

/** The longest wait, or the longest debt, in ticks. */
export function longestWait(): f64 {
  return min(MAX_SPAN_TICKS, LAST_TICKS - nowTicks) as f64;
}

export function stateOf(zeroTime: i64, tag: i32): i64 {
  return (zeroTime << TAG_BITS) | (tag as i64);
}

/** The zero-time of a state at this instant, raised to the floor of the tier. */
export function zeroTimeOf(state: i64): i64 {
  return floored(state >> TAG_BITS, nowTicks, capTicks);
}

/** The highest state of a bucket that is full for every tier, for any owner. */
export function floorState(): i64 {
  return stateOf(nowTicks - mostTicks, TAG_MASK);
}

/**
 * The initial bucket of a key: full, unless the clock was set back since a bucket was reclaimed,
 * because that bucket may have been this key's.
 */
export function stateAtFirstSight(): i64 {
  const known = forgotten();
  const floor = floorState();
  if (known <= floor) return floor;
  // A later time is known, so this call's time is old, or the clock was set back.
  renewInstant();
  return max(known, floorState());
}
