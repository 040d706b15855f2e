import { highOf, joined, round } from './arithmetic';
import { exchange64, load64 } from './accesses';
import { CELL_word, INDEX_BITS, LAST_TICK, WINDOW_TICKS_PER_MICRO } from './constants';

// The module for windows, logs and Sometimes also exports:
export { fixedReconfigureAt, fixedReturnAt, fixedTake, fixedTakeAt } from './window/fixed-window';
export { holdAs } from './holder';
export { lostRaces, receiptHigh, receiptLow } from './results';
export { logReconfigureAt, logTakeAt } from './window/sliding-log';
export { slidingReconfigureAt, slidingReturnAt } from './window/sliding-change';
export { slidingAddUp, slidingKept, slidingTakeAt } from './window/sliding-window';
export { sometimesDue, sometimesDueAt } from './window/sometimes';

// Shared by windows and logs. The caller passes the configuration that it checked, because memory
// may have changed since. Counts are at most a limit, which is below 2^30.

const TICKS_PER_MICRO: f64 = WINDOW_TICKS_PER_MICRO as f64;
const LAST: f64 = LAST_TICK as f64;

// Results of the last call.
/** After a refusal or a survey: microseconds until the requested tokens can be available. */
let wait: f64 = 0;
/** After a survey: tokens left, and microseconds until no admission counts any more. */
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

/** The high half of the word that was loaded before the clock is read. */
let seenHigh: i32 = 0;

export function windowLook(cell: usize): i32 {
  const word = load64(cell + CELL_word);
  seenHigh = highOf(word);
  return word as i32;
}

export function windowSeenHigh(): i32 {
  return seenHigh;
}

/**
 * Cancels an admission if the word has not changed since, and sets the bit `mark` of the word if
 * that is not 0. Cancelling an admission of 0 tokens always succeeds.
 */
export function windowCancel(cell: usize, low: i32, high: i32, cost: i32, mark: i32): bool {
  if (cost == 0) return true;
  const word = joined(low, high);
  const marked: i64 = mark == 0 ? 0 : (1 as i64) << mark;
  const next = (word - ((cost as i64) << INDEX_BITS)) | marked;
  return exchange64(cell + CELL_word, word, next) == word;
}

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
