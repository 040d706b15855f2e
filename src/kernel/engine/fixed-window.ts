import { exchange64, load64 } from './atomics';
import { CELL_word, WINDOW_OUTCOME_again } from './constants';
import {
  beginRaces,
  joined,
  leaveSurvey,
  leaveWait,
  leaveWord,
  loseRace,
  ticksAt,
  until,
} from './window';

// AtomicsFixedWindow says why this is right. `bits` are those of a count; the mark is the next one.

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
