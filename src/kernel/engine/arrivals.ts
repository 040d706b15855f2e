import { exchange64, load64 } from './accesses';
import { arrivalInstant, arrived, countAt } from './arrivals/rate';
import { ARRIVALS_refusals, CELL_word } from './constants';

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
