import { NONE } from '../claim';
import { exchange64, load64 } from '../accesses';
import { joined } from '../arithmetic';
import {
  CELL_word,
  EXACT_COUNT_BITS,
  INDEX_BITS,
  INDEX_MASK,
  OPENED,
  START_PLACES,
  WINDOW_OUTCOME_again,
  WINDOW_OUTCOME_busy,
  WINDOW_OUTCOME_changed,
} from '../constants';
import { beginRaces, leaveWord, loseRace } from '../results';
import { leaveSurvey, leaveWait, ticksAt, until } from '.';
import {
  claimWindowRecord,
  isInForce,
  nextWindowGeneration,
  publishWindowRecord,
  writeWindowRecord,
} from './record';

// A fixed window in one word: the window's start and its count change together, in one exchange.
// There is no second store that a stalled thread could perform late.
//
// A call whose clock reading is past the window's end opens the next window. At most `limit` per
// window: an exchange raises the count only up to the limit. Windows do not overlap, and none is
// shorter than the interval: every admission of a window has a reading before the window's end, and
// the reading that opens the next one is at or past that end. A reading older than the window
// counts in the window, so a stale clock opens nothing. Starts only move forward.
//
// With `allowDoubleBurst`, a call reads no clock while its tokens fit, so a window lasts until a
// call finds it full. The reading that opens a window is taken after the word is loaded, and the
// exchange finds the word unchanged, so every admission of the previous window precedes that
// reading. The word could return to an earlier value if tokens were cancelled and taken again. So
// cancelling leaves a mark in the word until the next window opens, and while the mark is set,
// every admission reads the clock.
//
// A new record counts from the start of the current window and keeps the count, in as many bits as
// limit and count need. The number of its first window depends on the generation.

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;
const BUSY: i32 = WINDOW_OUTCOME_busy as i32;
const CHANGED: i32 = WINDOW_OUTCOME_changed as i32;

function countOf(word: i64, bits: i32): i32 {
  return ((word >> INDEX_BITS) & ((1 << bits) - 1)) as i32;
}

/** The count and the mark above it: more than any limit once tokens were cancelled. */
function countAndMark(word: i64, bits: i32): i32 {
  return ((word >> INDEX_BITS) & ((2 << bits) - 1)) as i32;
}

function startOf(word: i64, bits: i32): f64 {
  return ((word as u64) >> (bits + 1 + INDEX_BITS)) as f64;
}

/** A number of tokens, shifted to its place in the word. */
function inWord(tokens: i32): i64 {
  return (tokens as i64) << INDEX_BITS;
}

/** Takes `tokens` without the clock, if they fit and the mark is clear. */
export function fixedTake(cell: usize, generation: i32, limit: i32, bits: i32, tokens: i32): i32 {
  beginRaces();
  let word = load64(cell + CELL_word);
  while (countAndMark(word, bits) <= limit - tokens) {
    if (!isInForce(cell, word, generation)) return CHANGED;
    const next = word + inWord(tokens);
    const seen = exchange64(cell + CELL_word, word, next);
    if (seen == word) {
      leaveWord(next);
      return tokens;
    }
    loseRace();
    word = seen;
  }
  return AGAIN;
}

/**
 * One attempt on a word that was loaded before the clock was read. Adds OPENED to the tokens if it
 * opened a window. A survey is exact at that reading, because the word did not change around it.
 */
export function fixedTakeAt(
  cell: usize,
  generation: i32,
  limit: i32,
  bits: i32,
  unitTicks: f64,
  intervalUnits: f64,
  originTicks: f64,
  opensFull: bool,
  low: i32,
  high: i32,
  nowUs: f64,
  least: i32,
  most: i32,
  survey: bool,
): i32 {
  beginRaces();
  const word = joined(low, high);
  if (!isInForce(cell, word, generation)) return CHANGED;
  const units = ticksAt(nowUs, originTicks) / unitTicks;
  let start = startOf(word, bits);
  const isOver = floor(units) - start >= intervalUnits;
  const opens = isOver && (!opensFull || countAndMark(word, bits) > limit - most);
  const count = opens ? 0 : countOf(word, bits);
  const room = max(0, limit - count);
  const taken = room >= least ? min(room, most) : 0;
  if (taken != 0) {
    let next = word + inWord(taken);
    if (opens) {
      // Rounded up here and down above, so that a window in whole units is never too short.
      start = ceil(units);
      next = ((start as i64) << (bits + 1 + INDEX_BITS)) | inWord(taken) | (word & INDEX_MASK);
    }
    if (exchange64(cell + CELL_word, word, next) != word) {
      loseRace();
      return AGAIN;
    }
    leaveWord(next);
  } else if (survey && load64(cell + CELL_word) != word) {
    return AGAIN;
  }
  if (survey || taken < least) {
    const untilEnd = until((start + intervalUnits) * unitTicks, nowUs, originTicks);
    leaveWait(least > limit ? Infinity : untilEnd);
    if (survey) {
      const counted = isOver && !opens ? 0 : count + taken;
      leaveSurvey(max(0, limit - counted), counted == 0 ? 0 : untilEnd);
    }
  }
  return taken != 0 && opens ? taken | (OPENED as i32) : taken;
}

/** Puts back up to `tokens` of the window, unless it is over; returns their number. */
export function fixedReturnAt(
  cell: usize,
  generation: i32,
  bits: i32,
  unitTicks: f64,
  intervalUnits: f64,
  originTicks: f64,
  low: i32,
  high: i32,
  nowUs: f64,
  tokens: i32,
): i32 {
  const word = joined(low, high);
  if (!isInForce(cell, word, generation)) return CHANGED;
  const units = ticksAt(nowUs, originTicks) / unitTicks;
  if (floor(units) - startOf(word, bits) >= intervalUnits) return 0;
  const returned = min(tokens, countOf(word, bits));
  return exchange64(cell + CELL_word, word, word - inWord(returned)) == word ? returned : AGAIN;
}

/** One attempt to put a new limit in force, on a word that was loaded before the clock was read. */
export function fixedReconfigureAt(
  cell: usize,
  generation: i32,
  bits: i32,
  unitTicks: f64,
  intervalUnits: f64,
  originTicks: f64,
  opensFull: bool,
  low: i32,
  high: i32,
  nowUs: f64,
  newLimit: i32,
  newIntervalMs: f64,
): i32 {
  const word = joined(low, high);
  if (!isInForce(cell, word, generation)) return CHANGED;
  const index = claimWindowRecord(cell);
  if (index == NONE) return BUSY;
  const ticks = ticksAt(nowUs, originTicks);
  const start = startOf(word, bits);
  const opens = !opensFull && floor(ticks / unitTicks) - start >= intervalUnits;
  const count = opens ? 0 : countOf(word, bits);
  // Set only if a change opens no window.
  const mark = (word >> (bits + INDEX_BITS)) & 1;
  const newBits = 32 - clz(max(newLimit, count));
  const unit = (1 << max(0, newBits - EXACT_COUNT_BITS)) as f64;
  const newGeneration = nextWindowGeneration(cell);
  const first = newGeneration % START_PLACES;
  const origin = originTicks + (opens ? ticks : start * unitTicks) - (first as f64) * unit;
  writeWindowRecord(cell, index, newGeneration, newBits, newLimit, newIntervalMs, origin, 0, 0);
  const next =
    ((((first as i64) << 1) | mark) << (newBits + INDEX_BITS)) | inWord(count) | (index as i64);
  return publishWindowRecord(cell, word, next, index);
}
