import { exchange64, load64 } from './accesses';
import { joined } from './arithmetic';
import {
  CELL_word,
  INDEX_BITS,
  WINDOW_KIND_full,
  WINDOW_KIND_log,
  WINDOW_KIND_sliding,
  WINDOW_OUTCOME_changed,
} from './constants';
import { word as known } from './results';
import { fixedReconfigureAt, fixedTakeAt, isWindowOver } from './window/fixed-window';
import {
  bitsIn,
  countOf,
  forget,
  generationOf,
  inWord,
  placeOf,
  recordOf,
  remember,
  wordOf,
} from './window/record';
import { logReconfigureAt, logTakeAt } from './window/sliding-log';
import { isSlotOver, slidingReconfigureAt, slidingTakeAt } from './window/sliding-window';
import { forgetOccasions } from './window/sometimes';

// The exports of the module for windows, logs and `Sometimes`. `kind` and `places`, the entries of
// the ring, never change; the host passes them as it checked them, because memory may have changed
// since. Counts are at most a limit, which is below 2^30.

export { lostRaces, receiptHigh, receiptLow } from './results';
export { fixedTake } from './window/fixed-window';
export { windowFullUs, windowLeft, windowNextUs, windowWaitUs } from './window/record';
export {
  windowLimit,
  windowLook,
  windowPlaceHigh,
  windowPlaceLow,
  windowRecall,
  windowSeenHigh,
} from './window/record';
export { slidingKept, slidingKeptSlot } from './window/sliding-window';
export { sometimesDue, sometimesDueAt } from './window/sometimes';

const LOG: i32 = WINDOW_KIND_log as i32;
const SLIDING: i32 = WINDOW_KIND_sliding as i32;
const FULL: i32 = WINDOW_KIND_full as i32;
const CHANGED: i32 = WINDOW_OUTCOME_changed as i32;

/** A cell may lie where another limiter was, in reused memory. */
export function leaveRegion(): void {
  forget();
  forgetOccasions();
}

/**
 * Takes all available tokens from `least` to `most`, or none, and returns their number or an
 * outcome. With `survey`, also leaves the state right after. `object` is the caller's number: see
 * `takenBy`.
 */
export function windowTakeAt(
  cell: usize,
  kind: i32,
  places: i32,
  nowUs: f64,
  least: i32,
  most: i32,
  survey: bool,
  object: i32,
  keptFor: f64,
  kept: f64,
): i32 {
  if (kind == LOG) return logTakeAt(cell, places, nowUs, least, most, survey);
  if (kind == SLIDING) {
    return slidingTakeAt(cell, places, nowUs, least, most, survey, object, keptFor, kept);
  }
  return fixedTakeAt(cell, kind, nowUs, least, most, survey, object);
}

/** Puts back up to `tokens` of a window or slot, unless it is over; returns their number. */
export function windowReturnAt(
  cell: usize,
  kind: i32,
  nowUs: f64,
  tokens: i32,
  low: i32,
  high: i32,
): i32 {
  const place = joined(low, high);
  let word = wordOf(cell);
  while (true) {
    const isSliding = kind == SLIDING;
    const isOver = isSliding ? isSlotOver(cell, word, nowUs) : isWindowOver(cell, word, nowUs);
    const bits = bitsIn(recordOf(cell, word));
    const isMine = placeOf(word, bits) == place;
    const returned = isMine && !isOver ? min(tokens, countOf(word, bits)) : 0;
    const next = word - inWord(returned);
    const seen =
      returned == 0 ? load64(cell + CELL_word) : exchange64(cell + CELL_word, word, next);
    if (seen == word) {
      remember(cell, next, nowUs);
      return returned;
    }
    word = seen;
  }
}

/** Attempts once to change the limit, if the word that was looked at names this generation. */
export function windowReconfigureAt(
  cell: usize,
  kind: i32,
  places: i32,
  nowUs: f64,
  generation: i32,
  limit: i32,
  intervalMs: f64,
): i32 {
  if (generationOf(cell, known) != generation) return CHANGED;
  if (kind == LOG) return logReconfigureAt(cell, places, nowUs, limit, intervalMs);
  if (kind == SLIDING) return slidingReconfigureAt(cell, places, nowUs, limit, intervalMs);
  return fixedReconfigureAt(cell, kind, nowUs, limit, intervalMs);
}

/**
 * Cancels an admission if the word has not changed since. Cancelling an admission of 0 tokens
 * always succeeds. With `allowDoubleBurst`, a mark stays in the word until the next window opens.
 */
export function windowCancel(cell: usize, kind: i32, low: i32, high: i32, cost: i32): bool {
  if (cost == 0) return true;
  // An admission of a log has overwritten older times.
  if (kind == LOG) return false;
  const word = joined(low, high);
  const mark = kind == FULL ? (1 as i64) << (bitsIn(recordOf(cell, word)) + INDEX_BITS) : 0;
  const next = (word - inWord(cost)) | mark;
  return exchange64(cell + CELL_word, word, next) == word;
}
