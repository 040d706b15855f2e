import { exchange64, load64 } from './accesses';
import { CELL_word, WINDOW_OUTCOME_again } from './constants';
import { beginRaces, leaveWord, loseRace } from './results';
import { leaveSeen, leaveSurvey, leaveWait, ticksAt, until } from './window';
import { joined } from './arithmetic';

// A fixed window in one word: the window's start and its count change together, in one exchange.
// There is no second store that a stalled thread could perform late.
//
// At most `limit` per window: an exchange raises the count only up to the limit. Windows do not
// overlap, and none is shorter than the interval. The clock reading that opens a window is taken
// after the word is loaded, and the exchange finds the word unchanged. So every admission of the
// previous window precedes that reading, which is at least an interval after that window's start.
//
// The word could return to an earlier value if tokens were returned and taken again. So a return
// leaves a mark in the word until the next window opens, and while the mark is set, every admission
// reads the clock. An admission made in between then uses an earlier reading than the one that
// opens the next window. Without the mark, the count only grows and the start only moves forward.

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;

function countOf(word: i64, bits: i32): i32 {
  return (word & ((1 << bits) - 1)) as i32;
}

/** The count with the mark above it: exceeds any limit once tokens were returned. */
function countAndMark(word: i64, bits: i32): i32 {
  return (word & ((2 << bits) - 1)) as i32;
}

function startOf(word: i64, bits: i32): f64 {
  return ((word as u64) >> (bits + 1)) as f64;
}

/** Takes `tokens` without the clock if they fit and the mark is clear; else leaves the word. */
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
  leaveSeen(word);
  return AGAIN;
}

/**
 * One attempt on a word that was loaded before the clock was read. A survey is exact at that
 * reading, because the word did not change around it.
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
  let start = startOf(word, bits);
  let taken = most;
  let next = word + most;
  if (countAndMark(word, bits) > limit - most) {
    if (floor(units) - start >= intervalUnits) {
      // Rounded up here and down above, so that a window in whole units is never too short.
      start = ceil(units);
      next = ((start as i64) << (bits + 1)) | most;
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
    const untilEnd = until((start + intervalUnits) * unitTicks, nowUs, originTicks);
    leaveWait(untilEnd);
    const counted = floor(units) - start >= intervalUnits ? 0 : countOf(next, bits);
    leaveSurvey(limit - counted, counted == 0 ? 0 : untilEnd);
  }
  return taken;
}
