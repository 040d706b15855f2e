import { round } from './arithmetic';
import { exchange64, load64 } from './accesses';
import { CELL_word, LAST_TICK, WINDOW_TICKS_PER_MICRO } from './constants';
import { highOf, joined } from './word';

// What windows and logs have in common. Their numbers come from the caller, who has checked them:
// what lies in memory may have changed since. Counts are at most the limit, which is below 2^30.

const TICKS_PER_MICRO: f64 = WINDOW_TICKS_PER_MICRO as f64;
const LAST: f64 = LAST_TICK as f64;

// What the last call left.
/** After a refusal or a survey: microseconds until there can be as many as were asked for. */
let wait: f64 = 0;
/** After a survey: what is left, and microseconds until the limiter is as good as new. */
let left: i32 = 0;
let full: f64 = 0;

export function windowWaitUs(): f64 {
  return wait;
}

export function windowLeft(): i32 {
  return left;
}

export function windowFullUs(): f64 {
  return full;
}

export function leaveWait(us: f64): void {
  wait = us;
}

export function leaveSurvey(count: i32, us: f64): void {
  left = count;
  full = us;
}

let seenHigh: i32 = 0;

/** Loads the word and returns its low half; the high half is left. */
export function windowLook(cell: usize): i32 {
  const word = load64(cell + CELL_word);
  seenHigh = highOf(word);
  return word as i32;
}

export function windowLookHigh(): i32 {
  return seenHigh;
}

/**
 * Takes an admission back if no word was written since. `mark` stays in the word. An admission in
 * which nothing was taken is always taken back.
 */
export function windowCancel(cell: usize, low: i32, high: i32, cost: i32, mark: i32): bool {
  if (cost == 0) return true;
  const word = joined(low, high);
  return exchange64(cell + CELL_word, word, (word - cost) | (mark as i64)) == word;
}

/** The tick nearest to an instant of the clock. */
export function ticksAt(nowUs: f64, originTicks: f64): f64 {
  const ticks = round(nowUs * TICKS_PER_MICRO) - originTicks;
  // NaN is a clock that has stepped back as far as can be.
  return ticks > -LAST ? min(ticks, LAST) : -LAST;
}

/** Microseconds from `nowUs` until a tick. */
export function until(tick: f64, nowUs: f64, originTicks: f64): f64 {
  return (originTicks + tick) / TICKS_PER_MICRO - nowUs;
}
