import { exchange64, load64, readF64 } from '../accesses';
import {
  CELL_word,
  SOMETIMES_every,
  SOMETIMES_first,
  SOMETIMES_intervalMs,
  SOMETIMES_originTicks,
} from '../constants';
import { intervalTicksOf, ticksAt } from './record';

// One word holds the instant of the last occasion and the count of calls, so both change together:
// if several threads find the interval over, exactly one acts.

/** The bits below the largest units that count 17.8 years. */
const EXACT_CALL_BITS = 11;

/** The cell whose configuration is cached; 0 for none. */
let known: usize = 0;
let first: i32 = 0;
let every: i32 = 0;
/** The bits that count calls, as far as they matter. */
let bits: i32 = 0;
let unitTicks: f64 = 0;
let intervalUnits: f64 = 0;
let originTicks: f64 = 0;

export function forgetOccasions(): void {
  known = 0;
}

/** Reads the configuration, which never changes. */
function learnOccasions(cell: usize): void {
  first = readF64(cell + SOMETIMES_first) as i32;
  every = readF64(cell + SOMETIMES_every) as i32;
  originTicks = readF64(cell + SOMETIMES_originTicks);
  bits = 32 - clz(every == 0 ? max(first, 1) : first + every);
  unitTicks = (1 << max(0, bits - EXACT_CALL_BITS)) as f64;
  intervalUnits = ceil(intervalTicksOf(readF64(cell + SOMETIMES_intervalMs)) / unitTicks);
  known = cell;
}

function callsOf(word: i64): i32 {
  return (word & ((1 << bits) - 1)) as i32;
}

function isOccasion(calls: i32): bool {
  return calls == 0 || calls < first || (every > 0 && calls % every == 0);
}

/** Counts one more call; beyond `first`, only the count modulo `every` matters. */
function oneMore(calls: i32): i32 {
  if (every == 0) return min(calls + 1, max(first, 1));
  return calls + 1 >= first + every ? calls + 1 - every : calls + 1;
}

/** Counts a call of a `Sometimes` without an interval. */
export function sometimesDue(cell: usize): bool {
  if (cell != known) learnOccasions(cell);
  let word = load64(cell + CELL_word);
  while (true) {
    const calls = callsOf(word);
    const next = (word - calls) | oneMore(calls);
    const seen = next == word ? word : exchange64(cell + CELL_word, word, next);
    if (seen == word) return isOccasion(calls);
    word = seen;
  }
}

/** Counts a call at a reading. An old reading is at most too early for an occasion. */
export function sometimesDueAt(cell: usize, nowUs: f64): bool {
  if (cell != known) learnOccasions(cell);
  const units = ticksAt(nowUs, originTicks) / unitTicks;
  let word = load64(cell + CELL_word);
  while (true) {
    const calls = callsOf(word);
    const last = ((word as u64) >> bits) as f64;
    const due = isOccasion(calls) || floor(units) - last >= intervalUnits;
    // Rounded up here and down above, so that an interval in whole units is never too short.
    const at = due ? max(last, ceil(units)) : last;
    const next = ((at as u64) << bits) | oneMore(calls);
    const seen = next == word ? word : exchange64(cell + CELL_word, word, next);
    if (seen == word) return due;
    word = seen;
  }
}
