import { exchange64, load64 } from '../accesses';
import {
  CELL_word,
  EXACT_COUNT_BITS,
  INDEX_BITS,
  INDEX_MASK,
  WINDOW_KIND_full,
  WINDOW_OUTCOME_damaged,
} from '../constants';
import { beginExchanges, failExchange, word as known } from '../results';
import {
  AGAIN,
  bitsIn,
  bitsOf,
  countOf,
  intervalIn,
  intervalTicksOf,
  inWord,
  isKnown,
  isLatest,
  knownBits,
  knownLimit,
  knownRecord,
  learn,
  leaveNext,
  leaveState,
  leaveWait,
  originIn,
  recordOf,
  remember,
  replaceRecord,
  ticksAt,
  unitIn,
  until,
  wordOf,
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
// So a word that is loaded after the clock is read will do, unless its window opened after that
// reading: the call would count in a window that is later than its instant.
//
// With `allowDoubleBurst`, a call reads no clock while its tokens fit, so a window lasts until a
// call finds it full. The reading that opens a window is taken after the word is loaded, and the
// exchange finds the word unchanged, so every admission of the previous window precedes that
// reading. The word could return to an earlier value if tokens were cancelled and taken again. So
// cancelling leaves a mark in the word until the next window opens, and while the mark is set,
// every admission reads the clock.
//
// A new record counts from the start of the current window and keeps the count, in as many bits as
// limit and count need. The number of its first window depends on the epoch. If the window is
// over by the old interval or the new one, the change opens the next window, like an admission.

const DAMAGED: i32 = WINDOW_OUTCOME_damaged as i32;
const FULL: i32 = WINDOW_KIND_full as i32;

/** The length of the units in which a window with this many bits for its count has time. */
function unitOf(bits: i32): f64 {
  return (1 << max(0, bits - EXACT_COUNT_BITS)) as f64;
}

/** The count and the mark above it: more than any limit once tokens were cancelled. */
function countAndMark(word: i64, bits: i32): i32 {
  return ((word >> INDEX_BITS) & ((2 << bits) - 1)) as i32;
}

function startOf(word: i64, bits: i32): f64 {
  return ((word as u64) >> (bits + 1 + INDEX_BITS)) as f64;
}

/** Takes `tokens` without the clock, if they fit and the mark is clear. */
export function fixedTake(cell: usize, tokens: i32): i32 {
  beginExchanges();
  let guessed = isKnown(cell);
  let word = wordOf(cell);
  while (true) {
    const named = recordOf(cell, word);
    if (!isLatest(named) && !learn(named)) {
      const again = load64(cell + CELL_word);
      if (again == word) return DAMAGED;
      word = again;
      guessed = false;
      continue;
    }
    const bits = knownBits;
    const fits = countAndMark(word, bits) <= knownLimit - tokens;
    const next = word + inWord(tokens);
    const seen = fits ? exchange64(cell + CELL_word, word, next) : load64(cell + CELL_word);
    if (seen == word) {
      remember(cell, fits ? next : word, 0);
      return fits ? tokens : AGAIN;
    }
    if (fits && !guessed) failExchange();
    guessed = false;
    word = seen;
  }
}

/**
 * Decides on a word at a reading: returns the tokens to take or AGAIN. With `withState`, the state is
 * exact at it: the word did not change around it.
 */
export function fixedDecide(
  kind: i32,
  word: i64,
  nowUs: f64,
  least: i32,
  most: i32,
  withState: bool,
  isEarlier: bool,
): i32 {
  const record = knownRecord;
  const bits = knownBits;
  const limit = knownLimit;
  const unit = unitIn(record);
  const interval = intervalIn(record);
  const origin = originIn(record);
  const units = ticksAt(nowUs, origin) / unit;
  let start = startOf(word, bits);
  const isOver = floor(units) - start >= interval;
  const opens = isOver && (kind != FULL || countAndMark(word, bits) > limit - most);
  if (!isEarlier && (withState || units < start || (opens && kind == FULL))) return AGAIN;
  const count = opens ? 0 : countOf(word, bits);
  const room = max(0, limit - count);
  const taken = room >= least ? min(room, most) : 0;
  let next = word + inWord(taken);
  if (opens && taken != 0) {
    // Rounded up here and down above, so that a window in whole units is never too short.
    start = ceil(units);
    next = ((start as i64) << (bits + 1 + INDEX_BITS)) | inWord(taken) | (word & INDEX_MASK);
  }
  leaveNext(next);
  if (withState || taken < least) {
    const untilEnd = until((start + interval) * unit, nowUs, origin);
    leaveWait(least > limit ? Infinity : untilEnd);
    const counted = isOver && !opens ? 0 : count + taken;
    const fullUs = counted == 0 ? 0 : untilEnd;
    if (withState) leaveState(max(0, limit - counted), limit, fullUs, untilEnd);
  }
  return taken;
}

/** Whether the window of a word is over at a reading. */
export function isWindowOver(cell: usize, word: i64, nowUs: f64): bool {
  const record = recordOf(cell, word);
  const units = ticksAt(nowUs, originIn(record)) / unitIn(record);
  return floor(units) - startOf(word, bitsIn(record)) >= intervalIn(record);
}

/** Attempts once to put a new limit in force, on the word that was looked at. */
export function fixedReconfigureAt(
  cell: usize,
  kind: i32,
  nowUs: f64,
  newLimit: i32,
  newIntervalMs: f64,
): i32 {
  const word = known;
  const record = recordOf(cell, word);
  const bits = bitsIn(record);
  const unit = unitIn(record);
  const oldOrigin = originIn(record);
  const ticks = ticksAt(nowUs, oldOrigin);
  const start = startOf(word, bits);
  const isOver =
    floor(ticks / unit) - start >= intervalIn(record) ||
    ticks - start * unit >= intervalTicksOf(newIntervalMs);
  const opens = isOver && kind != FULL;
  const count = opens ? 0 : countOf(word, bits);
  // Set only if a change opens no window.
  const mark = (word >> (bits + INDEX_BITS)) & 1;
  const newBits = bitsOf(max(newLimit, count));
  const newUnit = unitOf(newBits);
  const origin = oldOrigin + (opens ? ticks : start * unit);
  const next = (mark << (newBits + INDEX_BITS)) | inWord(count);
  return replaceRecord(
    cell,
    word,
    next,
    true,
    newBits,
    newLimit,
    newIntervalMs,
    origin,
    0,
    0,
    newUnit,
  );
}
