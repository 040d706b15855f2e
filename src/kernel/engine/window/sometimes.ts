import { exchange64, load64 } from '../accesses';
import { CELL_word, WINDOW_OUTCOME_again } from '../constants';
import { ticksAt } from '.';
import { joined } from '../arithmetic';

// One word holds the instant of the last occasion and the count of calls, so both change together:
// if several threads find the interval over, exactly one acts.

const AGAIN: i32 = WINDOW_OUTCOME_again as i32;

function callsOf(word: i64, bits: i32): i32 {
  return (word & ((1 << bits) - 1)) as i32;
}

function isDue(calls: i32, first: i32, every: i32): bool {
  return calls == 0 || calls < first || (every > 0 && calls % every == 0);
}

/** Counts one more call; beyond `first`, only the count modulo `every` matters. */
function counted(calls: i32, first: i32, every: i32): i32 {
  if (every == 0) return min(calls + 1, max(first, 1));
  return calls + 1 >= first + every ? calls + 1 - every : calls + 1;
}

/** Counts a call of a `Sometimes` without an interval. */
export function sometimesDue(cell: usize, first: i32, every: i32, bits: i32): bool {
  let word = load64(cell + CELL_word);
  while (true) {
    const calls = callsOf(word, bits);
    const next = (word - calls) | counted(calls, first, every);
    const seen = next == word ? word : exchange64(cell + CELL_word, word, next);
    if (seen == word) return isDue(calls, first, every);
    word = seen;
  }
}

/** One attempt to count a call on a word that was loaded before the clock was read. */
export function sometimesDueAt(
  cell: usize,
  first: i32,
  every: i32,
  bits: i32,
  unitTicks: f64,
  intervalUnits: f64,
  originTicks: f64,
  low: i32,
  high: i32,
  nowUs: f64,
): i32 {
  const word = joined(low, high);
  const calls = callsOf(word, bits);
  const last = ((word as u64) >> bits) as f64;
  const units = ticksAt(nowUs, originTicks) / unitTicks;
  const due = isDue(calls, first, every) || floor(units) - last >= intervalUnits;
  // Rounded up here and down above, so that an interval in whole units is never too short.
  const at = due ? max(last, ceil(units)) : last;
  const next = ((at as u64) << bits) | counted(calls, first, every);
  if (next != word && exchange64(cell + CELL_word, word, next) != word) return AGAIN;
  return due as i32;
}
