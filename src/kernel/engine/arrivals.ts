import { exchange64, load64 } from './accesses';
import {
  ARRIVAL_COUNT_BITS,
  ARRIVAL_DECAY,
  ARRIVAL_DIGIT_BITS,
  ARRIVAL_FORGOTTEN,
  ARRIVAL_PARTS,
  ARRIVALS_refusals,
  CELL_word,
  LAST_ARRIVAL,
  MAX_ARRIVALS,
  MAX_ARRIVALS_EXPONENT,
} from './constants';

// A rate of arrivals, smoothed exponentially, in one word: a count that decays with a time
// constant, as a float of 24 bits, and the instant up to which it has decayed. Pure functions,
// without clock or memory.

const BITS: i64 = ARRIVAL_COUNT_BITS as i64;
const COUNT: i64 = ((1 as i64) << BITS) - 1;
const DIGITS: i64 = ARRIVAL_DIGIT_BITS as i64;
const DIGIT_MASK: i64 = ((1 as i64) << DIGITS) - 1;
const PARTS: f64 = ARRIVAL_PARTS as f64;
const MOST: f64 = MAX_ARRIVALS as f64;
const MAX_EXPONENT: i64 = MAX_ARRIVALS_EXPONENT as i64;
const LAST: f64 = LAST_ARRIVAL as f64;

/** A clock reading in the word's units. NaN counts as the origin. */
function arrivalInstant(nowUs: f64, originUs: f64, unitUs: f64): i64 {
  const units = floor((nowUs - originUs) / unitUs);
  return units > 0 ? (min(units, LAST) as i64) : 0;
}

/** The count of a word. All bits are valid. */
function countOf(word: i64): f64 {
  const bits = word & COUNT;
  const exponent = min(bits >> DIGITS, MAX_EXPONENT);
  return (((bits & DIGIT_MASK) << exponent) as f64) / PARTS;
}

/** The bits of a count: its first 18 digits, rounded to the nearest, and the exponent. */
function bitsOf(count: f64): i64 {
  let digits = floor(min(count, MOST) * PARTS + 0.5) as i64;
  let exponent: i64 = 0;
  const surplus = 64 - clz(digits) - DIGITS;
  if (surplus > 0) {
    digits = (digits + ((1 as i64) << (surplus - 1))) >> surplus;
    exponent = surplus;
    // Rounding carried past the last digit.
    if (digits > DIGIT_MASK) {
      digits >>= 1;
      exponent++;
    }
  }
  return (exponent << DIGITS) | digits;
}

/** The rest of a count after some units, by a power of the decay after one unit. */
function decayed(count: f64, units: i64): f64 {
  if (units >= ARRIVAL_FORGOTTEN) return 0;
  let factor: f64 = ARRIVAL_DECAY;
  let rest = count;
  for (let left = units as i32; left != 0; left >>= 1) {
    if ((left & 1) != 0) rest *= factor;
    factor *= factor;
  }
  return rest;
}

/** The count at an instant, at the earliest the word's. */
function countAt(word: i64, instant: i64): f64 {
  const last = ((word as u64) >> BITS) as i64;
  return decayed(countOf(word), max(instant - last, 0));
}

/** The word after `n` more arrivals at an instant. */
function arrived(word: i64, instant: i64, n: f64): i64 {
  const last = ((word as u64) >> BITS) as i64;
  return (max(last, instant) << BITS) | bitsOf(countAt(word, instant) + n);
}

// The arrivals at a trace sampler, counted by all threads. Each exchange replaces one word by its
// successor, so a thread that stalls or dies between two accesses leaves a valid word. If it
// continues later, it adds at most what it had counted.

/** Counts `n` arrivals, and returns the count at that instant. */
export function arrivalsAdd(cell: usize, originUs: f64, unitUs: f64, nowUs: f64, n: f64): f64 {
  const instant = arrivalInstant(nowUs, originUs, unitUs);
  let word = load64(cell + CELL_word);
  while (true) {
    const next = arrived(word, instant, n);
    const seen = exchange64(cell + CELL_word, word, next);
    if (seen == word) return countAt(next, instant);
    word = seen;
  }
}

/** The count at an instant. */
export function arrivalsLook(cell: usize, originUs: f64, unitUs: f64, nowUs: f64): f64 {
  return countAt(load64(cell + CELL_word), arrivalInstant(nowUs, originUs, unitUs));
}

/** Counts a span that the limit refused, and marks that none was kept since. */
export function refusalsAdd(cell: usize): void {
  let word = load64(cell + ARRIVALS_refusals);
  while (true) {
    const seen = exchange64(cell + ARRIVALS_refusals, word, (word + 2) | 1);
    if (seen == word) return;
    word = seen;
  }
}

/** Removes the mark; returns whether it was set. So exactly one kept span reports the refusals. */
export function refusalsAnswer(cell: usize): bool {
  let word = load64(cell + ARRIVALS_refusals);
  while ((word & 1) != 0) {
    const seen = exchange64(cell + ARRIVALS_refusals, word, word - 1);
    if (seen == word) return true;
    word = seen;
  }
  return false;
}
