import { exchange64, load64 } from '../accesses';
import {
  CELL_word,
  MAX_SEATS,
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
