import { exchange64, load64 } from '../accesses';
import {
  CELL_word,
  NO_PERMIT_behind,
  NO_PERMIT_noSeat,
  SEAT_CHANGE_changed,
  SEAT_STATE_changing,
  SEAT_STATE_free,
  SEMAPHORE_permits,
} from '../constants';
import {
  availableOf,
  claim,
  claimed,
  complete,
  completed,
  freed,
  generationOf,
  permitsOf,
  QUEUED,
  seatAt,
  stateOf,
  wordOf,
} from './seat';
import { isHeadDue } from './queue';

// The number of permits: a look at it, and its change. Both see the queue as served: returned
// permits belong to the head at once, even if its thread has not been woken yet.

// Results of the last look.
let available: i32 = 0;
let permits: i32 = 0;

/** Changes the number of permits and returns 0, unless the queue must be served first. */
export function semaphoreChange(cell: usize, seats: i32, owner: i32, to: i32): i32 {
  const seat = claim(cell, seats, owner, 0, to, SEAT_STATE_changing);
  if (seat < 0) return NO_PERMIT_noSeat;
  const changing = claimed;
  const generation = generationOf(changing);
  while (true) {
    const word = completed(cell, seats);
    if (isHeadDue(cell, seats, word)) {
      exchange64(seatAt(cell, seats, seat), changing, freed(changing));
      return NO_PERMIT_behind;
    }
    const from = permitsOf(load64(cell + SEMAPHORE_permits));
    const left = availableOf(word) + to - from;
    const next = wordOf(seat, generation, left, word & QUEUED, SEAT_CHANGE_changed);
    if (exchange64(cell + CELL_word, word, next) == word) {
      complete(cell, seats, next);
      return 0;
    }
  }
}

/**
 * Reads the number of permits and the available ones at one instant; false if the queue must be
 * served first.
 */
export function semaphoreLook(cell: usize, seats: i32): bool {
  while (true) {
    const word = completed(cell, seats);
    permits = permitsOf(load64(cell + SEMAPHORE_permits));
    available = availableOf(word);
    const isDue = isHeadDue(cell, seats, word);
    if (load64(cell + CELL_word) == word) return !isDue;
  }
}

/** Whether a seat is free at an instant of the call, by the proof of `claim`. A call under way has one. */
export function semaphoreHasRoom(cell: usize, seats: i32): bool {
  let before: i32 = -1;
  while (true) {
    completed(cell, seats);
    let generations: i32 = 0;
    for (let seat = 0; seat < seats; seat++) {
      const now = load64(seatAt(cell, seats, seat));
      if (stateOf(now) == SEAT_STATE_free) return true;
      generations += generationOf(now);
    }
    if (generations == before) return false;
    before = generations;
  }
}

export function semaphorePermits(): i32 {
  return permits;
}

/** Negative while more permits are in use than a change left. */
export function semaphoreAvailable(): i32 {
  return available;
}
