import { exchange64, load64 } from '../accesses';
import {
  CELL_word,
  NO_PERMIT_behind,
  NO_PERMIT_noSeat,
  NO_PERMIT_refused,
  SEAT_CHANGE_granted,
  SEAT_CHANGE_returned,
  SEAT_STATE_asked,
  SEAT_STATE_free,
  SEAT_STATE_held,
} from '../constants';
import { beginRaces, loseRace } from '../results';
import {
  amountOf,
  availableOf,
  claim,
  claimed,
  complete,
  freed,
  generationOf,
  held,
  isQueued,
  QUEUED,
  seatAt,
  completed,
  stateOf,
  wordOf,
} from './seat';

// Takes and returns permits. docs/algorithms-semaphore.md has the proof.

let taken: i32 = 0;

/** The generation of the seat that the last call took. */
export function semaphoreGeneration(): i32 {
  return taken;
}

export function leaveGeneration(last: i32): void {
  taken = last;
}

/**
 * Takes `n` permits and returns their seat, or the reason for a refusal. Available permits belong
 * to the queue, if it has callers.
 */
export function semaphoreTake(cell: usize, seats: i32, owner: i32, hint: i32, n: i32): i32 {
  let seat = -1;
  let asked: i64 = 0;
  beginRaces();
  while (true) {
    const word = load64(cell + CELL_word);
    const left = availableOf(word) - n;
    if (left < 0 || isQueued(word)) {
      if (seat >= 0) exchange64(seatAt(cell, seats, seat), asked, freed(asked));
      return left < 0 ? NO_PERMIT_refused : NO_PERMIT_behind;
    }
    if (seat < 0) {
      seat = claim(cell, seats, owner, hint, n, SEAT_STATE_asked);
      if (seat < 0) return NO_PERMIT_noSeat;
      asked = claimed;
      taken = generationOf(asked);
    }
    complete(cell, seats, word);
    const next = wordOf(seat, taken, left, 0, SEAT_CHANGE_granted);
    if (exchange64(cell + CELL_word, word, next) == word) {
      exchange64(seatAt(cell, seats, seat), asked, held(asked));
      return seat;
    }
    loseRace();
  }
}

/**
 * Empties a seat, returns its permits, and returns the state that it had. Leaves a seat of another
 * generation alone, and, unless `only` is free, a seat in a state other than `only`.
 */
export function vacate(cell: usize, seats: i32, seat: i32, generation: i32, only: i32): i32 {
  const at = seatAt(cell, seats, seat);
  while (true) {
    const word = completed(cell, seats);
    const now = load64(at);
    const state = stateOf(now);
    if (generationOf(now) != generation || state == SEAT_STATE_free) return SEAT_STATE_free;
    if (only != SEAT_STATE_free && state != only) return state;
    const left = availableOf(word) + (state == SEAT_STATE_held ? amountOf(now) : 0);
    const next = wordOf(seat, generation, left, word & QUEUED, SEAT_CHANGE_returned);
    if (exchange64(cell + CELL_word, word, next) == word) {
      exchange64(at, now, freed(now));
      return state;
    }
    loseRace();
  }
}

/** Returns the permits of a seat; false if it holds none of that generation. */
export function semaphoreRelease(cell: usize, seats: i32, seat: i32, generation: i32): bool {
  beginRaces();
  return vacate(cell, seats, seat, generation, SEAT_STATE_held) == SEAT_STATE_held;
}

/** Whether the queue may have callers. */
export function semaphoreIsQueued(cell: usize): bool {
  return isQueued(load64(cell + CELL_word));
}
