import { exchange64, load64 } from './accesses';
import { CELL_word, WINDOW_OUTCOME_again } from './constants';
import { beginRaces, loseRace } from './races';
import { leaveWord } from './receipt';
import { leaveSurvey, leaveWait, ticksAt, until } from './window';
import { joined } from './word';

// Fixed windows in one word: the start of the window and its count change together, in one
// exchange, so there is no second store that a stalled thread could do late.
//
// At most `limit` in a window: an exchange adds to the count only up to the limit. Windows lie back
// to back and none is shorter than the interval: the clock that opens a window is read after the
// word was loaded, and the exchange finds the word unchanged, so every admission of the window
// before came before that reading, and it is an interval or more after that window's own start.
//
// But the word may have come back, if tokens were given back and taken again meanwhile. So giving
// back leaves a mark in the word until the next window opens, and while it is there the clock is
// read for every admission: one that was made in between then stands on an earlier reading than the
// one that opens the window. Without the mark the count only grows, and the start only moves forward.

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;

function countOf(word: i64, bits: i32): i32 {
  return (word & ((1 << bits) - 1)) as i32;
}

/** The count, and more than any limit once tokens were given back. */
function countAndMark(word: i64, bits: i32): i32 {
  return (word & ((2 << bits) - 1)) as i32;
}

function startOf(word: i64, bits: i32): f64 {
  return ((word as u64) >> (bits + 1)) as f64;
}

/** Takes `tokens` if the clock has no say: there is room, and nothing was given back. */
export function fixedTake(cell: usize, limit: i32, bits: i32, tokens: i32): i32 {
  beginRaces();
  let word = load64(cell + CELL_word);
  while (countAndMark(word, bits) <= limit - tokens) {
    const seen = tokens == 0 ? word : exchange64(cell + CELL_word, word, word + tokens);
    if (seen == word) {
      leaveWord(word + tokens);
      return tokens;
    }
    loseRace();
    word = seen;
  }
  return AGAIN;
}

/**
 * One attempt on a word that was seen before the clock was read. A survey is true at that reading:
 * during it the word did not change.
 */
export function fixedTakeAt(
  cell: usize,
  limit: i32,
  bits: i32,
  unitTicks: f64,
  intervalUnits: f64,
  originTicks: f64,
  low: i32,
  high: i32,
  nowUs: f64,
  least: i32,
  most: i32,
  survey: bool,
): i32 {
  beginRaces();
  const word = joined(low, high);
  const units = ticksAt(nowUs, originTicks) / unitTicks;
  let taken = most;
  let next = word + most;
  if (countAndMark(word, bits) > limit - most) {
    if (floor(units) - startOf(word, bits) >= intervalUnits) {
      // Up here and down above: a window measured in whole units is never too short.
      next = ((ceil(units) as i64) << (bits + 1)) | most;
    } else {
      const room = limit - countOf(word, bits);
      taken = room >= least || most == 0 ? min(room, most) : 0;
      next = word + taken;
    }
  }
  if (taken != 0) {
    if (exchange64(cell + CELL_word, word, next) != word) {
      loseRace();
      return AGAIN;
    }
  } else if (survey && load64(cell + CELL_word) != word) {
    return AGAIN;
  }
  leaveWord(next);
  if (survey || taken < least) {
    const start = startOf(next, bits);
    const untilEnd = until((start + intervalUnits) * unitTicks, nowUs, originTicks);
    leaveWait(untilEnd);
    const counted = floor(units) - start >= intervalUnits ? 0 : countOf(next, bits);
    leaveSurvey(limit - counted, counted == 0 ? 0 : untilEnd);
  }
  return taken;
}
