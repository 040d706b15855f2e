import { round } from './arithmetic';
import { load64 } from './atomics';
import { CELL_word, LAST_TICK, WINDOW_TICKS_PER_MICRO } from './constants';

// What windows and logs have in common. Their numbers come from the caller, who has checked them:
// what lies in memory may have changed since. Counts are at most the limit, which is below 2^30.

const TICKS_PER_MICRO: f64 = WINDOW_TICKS_PER_MICRO as f64;
const LAST: f64 = LAST_TICK as f64;

// What the last call left.
/** After an admission: the word that it wrote. */
let writtenWord: i64 = 0;
/** After a refusal or a survey: microseconds until there can be as many as were asked for. */
let wait: f64 = 0;
/** After a survey: what is left, and microseconds until the limiter is as good as new. */
let left: i32 = 0;
let full: f64 = 0;
let lost: i32 = 0;

export function windowWord(): i64 {
  return writtenWord;
}

export function windowWaitUs(): f64 {
  return wait;
}

export function windowLeft(): i32 {
  return left;
}

export function windowFullUs(): f64 {
  return full;
}

export function windowRacesLost(): i32 {
  return lost;
}

export function leaveWord(word: i64): void {
  writtenWord = word;
}

export function leaveWait(us: f64): void {
  wait = us;
}

export function leaveSurvey(count: i32, us: f64): void {
  left = count;
  full = us;
}

export function beginRaces(): void {
  lost = 0;
}

export function loseRace(): void {
  lost++;
}

let seenHigh: i32 = 0;

/** Loads the word and returns its low half; the high half is left. */
export function windowLook(cell: usize): i32 {
  const word = load64(cell + CELL_word);
  seenHigh = (word >> 32) as i32;
  return word as i32;
}

export function windowLookHigh(): i32 {
  return seenHigh;
}

/** A word that the caller has looked at before it read the clock. */
export function joined(low: i32, high: i32): i64 {
  return ((high as i64) << 32) | (low as u32 as i64);
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
