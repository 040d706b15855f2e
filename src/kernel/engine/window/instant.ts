import { round } from '../arithmetic';
import { LAST_TICK, WINDOW_TICKS_PER_MICRO } from '../constants';

// Time in windows and logs, and the results of a call beside the number of its tokens.

const TICKS_PER_MICRO: f64 = WINDOW_TICKS_PER_MICRO as f64;
const LAST: f64 = LAST_TICK as f64;
/** Products of doubles may be too large by this: 1.1 ms are 17,600 ticks, not 17,601. */
const PRODUCT_ERROR: f64 = 1e-6;

/**
 * The tick nearest to a clock instant. No other step rounds, so an interval ends exactly when it is
 * due.
 */
export function ticksAt(nowUs: f64, originTicks: f64): f64 {
  const ticks = round(nowUs * TICKS_PER_MICRO) - originTicks;
  // NaN counts as a clock that has stepped back as far as possible.
  return ticks > -LAST ? min(ticks, LAST) : -LAST;
}

/** Microseconds from `nowUs` until a tick. */
export function until(tick: f64, nowUs: f64, originTicks: f64): f64 {
  return (originTicks + tick) / TICKS_PER_MICRO - nowUs;
}

/** An interval in ticks, rounded up so that a window is never shorter than requested. */
export function intervalTicksOf(intervalMs: f64): f64 {
  return ceil(intervalMs * 1000 * TICKS_PER_MICRO - PRODUCT_ERROR);
}

/** After a refusal or a survey: microseconds until the requested tokens can be available. */
let wait: f64 = 0;
/** After a survey: tokens left, microseconds until no admission counts, and until one less does. */
let left: i32 = 0;
let full: f64 = 0;
let next: f64 = 0;

export function windowWaitUs(): f64 {
  return wait;
}

export function windowLeft(): i32 {
  return left;
}

export function windowFullUs(): f64 {
  return full;
}

export function windowNextUs(): f64 {
  return next;
}

export function leaveWait(us: f64): void {
  wait = us;
}

/** Without admissions that count, `nextUs` has no meaning: no more tokens will come. */
export function leaveSurvey(count: i32, limit: i32, fullUs: f64, nextUs: f64): void {
  left = count;
  full = fullUs;
  next = count < limit ? nextUs : Infinity;
}
