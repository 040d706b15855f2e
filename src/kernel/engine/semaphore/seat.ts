import { exchange64, load64 } from '../accesses';
import {
  CELL_word,
  MAX_SEATS,
  NO_PERMIT_behind,
  NO_PERMIT_noSeat,
  NO_PERMIT_refused,
  SEAT_BYTES,
  SEAT_CHANGE_changed,
  SEAT_CHANGE_granted,
  SEAT_CHANGE_returned,
  SEAT_STATE_asked,
  SEAT_STATE_changing,
  SEAT_STATE_free,
  SEAT_STATE_held,
  SEATS_AT,
  SEMAPHORE_permits,
} from '../constants';
import { beginRaces, loseRace } from '../results';

// The words of a semaphore. Every exchange of its word names one seat and the change to it. The
// first thread that reaches the seat makes that change.
//
// Invariant: a seat's change is complete before the word that names it is exchanged again. So the
// word and the seat that it names together always determine which permits are in use.

const GENERATION_SHIFT: i64 = 33;
const VALUE_SHIFT: i64 = 16;
const VALUE_MASK: i64 = 0x1ffff;
const SEAT_SHIFT: i64 = 3;
const SEAT_MASK: i64 = MAX_SEATS - 1;
const N_SHIFT: i64 = 16;
const OWNER_SHIFT: i64 = 8;
const OWNER_MASK: i64 = 0xff;
const STATE_MASK: i64 = 7;
const CHANGE_MASK: i64 = 3;

/** The bit of the word that is set while the queue may have callers. */
export const QUEUED: i64 = 4;

/** 31 bits. */
export function generationOf(word: i64): i32 {
  return ((word as u64) >> GENERATION_SHIFT) as i32;
}

// The semaphore's word. The word of its permits has the same form.

export function availableOf(word: i64): i32 {
  // Sign-extends 17 bits.
  return ((word << (47 - VALUE_SHIFT)) >> 47) as i32;
}

export function isQueued(word: i64): bool {
  return (word & QUEUED) != 0;
}

export function wordOf(seat: i32, generation: i32, available: i32, queued: i64, change: i32): i64 {
  return (
    ((generation as i64) << GENERATION_SHIFT) |
    (((available as i64) & VALUE_MASK) << VALUE_SHIFT) |
    ((seat as i64) << SEAT_SHIFT) |
    queued |
    change
  );
}

export function permitsOf(permits: i64): i32 {
  return ((permits >> VALUE_SHIFT) & VALUE_MASK) as i32;
}

// Seats.

export function seatAt(cell: usize, seats: i32, seat: i32): usize {
  return cell + SEATS_AT + (seat & (seats - 1)) * SEAT_BYTES;
}

export function asking(free: i64, n: i32, owner: i32, state: i32): i64 {
  return (
    ((generationOf(free) as i64) << GENERATION_SHIFT) |
    ((n as i64) << N_SHIFT) |
    ((owner as i64) << OWNER_SHIFT) |
    state
  );
}

export function stateOf(seat: i64): i32 {
  return (seat & STATE_MASK) as i32;
}

export function amountOf(seat: i64): i32 {
  return ((seat >> N_SHIFT) & VALUE_MASK) as i32;
}

export function ownerOf(seat: i64): i32 {
  return ((seat >> OWNER_SHIFT) & OWNER_MASK) as i32;
}

export function held(asked: i64): i64 {
  return asked - SEAT_STATE_asked + SEAT_STATE_held;
}

/** The free seat of the next generation. */
export function freed(seat: i64): i64 {
  return ((seat >> GENERATION_SHIFT) + 1) << GENERATION_SHIFT;
}

/**
 * Takes a free seat, near `hint` if possible; -1 if none is free.
 *
 * Proof: a seat that becomes free gets a new generation. So if two looks in a row get no seat and see
 * the same generations, no seat was free between them.
 */
export function claim(cell: usize, seats: i32, owner: i32, hint: i32, n: i32, state: i32): i32 {
  let before: i32 = -1;
  while (true) {
    let generations: i32 = 0;
    for (let step = 0; step < seats; step++) {
      const seat = (hint + step) & (seats - 1);
      const at = seatAt(cell, seats, seat);
      const free = load64(at);
      generations += generationOf(free);
      if (stateOf(free) != SEAT_STATE_free) continue;
      claimed = asking(free, n, owner, state);
      if (exchange64(at, free, claimed) == free) return seat;
    }
    if (generations == before) return -1;
    before = generations;
  }
}

/** The word of the seat claimed last. */
export let claimed: i64 = 0;

/**
 * Completes the change of the seat that a word names. A seat gets a new generation when it becomes
 * free, so a late attempt changes nothing.
 */
export function complete(cell: usize, seats: i32, word: i64): void {
  const seat = ((word >> SEAT_SHIFT) & SEAT_MASK) as i32;
  const at = seatAt(cell, seats, seat);
  const now = load64(at);
  if (generationOf(now) != generationOf(word)) return;
  const change = (word & CHANGE_MASK) as i32;
  if (change == SEAT_CHANGE_granted) {
    if (stateOf(now) == SEAT_STATE_asked) exchange64(at, now, held(now));
  } else if (change == SEAT_CHANGE_returned) {
    exchange64(at, now, freed(now));
  } else if (change == SEAT_CHANGE_changed && stateOf(now) == SEAT_STATE_changing) {
    const permits = load64(cell + SEMAPHORE_permits);
    // While the seat is unchanged, no later change can have written other permits.
    if (load64(at) == now) {
      const next = wordOf(seat, generationOf(now), amountOf(now), 0, 0);
      exchange64(cell + SEMAPHORE_permits, permits, next);
    }
    exchange64(at, now, freed(now));
  }
}

/** The word, after the change that it names is complete. */
export function completed(cell: usize, seats: i32): i64 {
  const word = load64(cell + CELL_word);
  complete(cell, seats, word);
  return word;
}

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
