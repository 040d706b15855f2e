import { exchange64, load64 } from '../accesses';
import { SEAT_due, SEAT_STATE_asked, SEAT_STATE_free, SEAT_STATE_held } from '../constants';
import { amountOf, completed, generationOf, ownerOf, seatAt, stateOf } from './seat';
import { leaveGeneration, vacate } from './semaphore';

// Permits that come back without their owner: after its thread has ended, or when they expire.

/**
 * Empties all seats of an owner whose thread has ended, at any point of a call. Returns the number
 * of permits that came back.
 */
export function semaphoreRecover(cell: usize, seats: i32, owner: i32): i32 {
  // Leave the queue first, so that nothing more is granted to it.
  recover(cell, seats, owner, SEAT_STATE_asked);
  return recover(cell, seats, owner, SEAT_STATE_free);
}

/** Empties the owner's seats in one state, or all of them if that state is free. */
function recover(cell: usize, seats: i32, owner: i32, only: i32): i32 {
  let returned = 0;
  for (let seat = 0; seat < seats; seat++) {
    const now = load64(seatAt(cell, seats, seat));
    if (stateOf(now) == SEAT_STATE_free || ownerOf(now) != owner) continue;
    const state = vacate(cell, seats, seat, generationOf(now), only);
    if (state == SEAT_STATE_held && only == SEAT_STATE_free) returned += amountOf(now);
  }
  return returned;
}

/** Whether an owner has seats, with permits or in the queue. Only the owner's thread can add one. */
export function semaphoreOwns(cell: usize, seats: i32, owner: i32): bool {
  completed(cell, seats);
  for (let seat = 0; seat < seats; seat++) {
    const now = load64(seatAt(cell, seats, seat));
    if (stateOf(now) != SEAT_STATE_free && ownerOf(now) == owner) return true;
  }
  return false;
}

const DUE_BITS: i64 = 44;
const DUE_MASK: i64 = (1 << 44) - 1;

/** The word of a due instant. No seat starts with the word of its first generation. */
function dueWord(generation: i32, due: f64): i64 {
  return (((generation + 1) as i64) << DUE_BITS) | (due as i64);
}

/** Whether a due word belongs to a generation. */
function isDueOf(word: i64, generation: i32): bool {
  return ((word ^ dueWord(generation, 0)) & ~DUE_MASK) == 0;
}

/**
 * Returns the instant at which a seat is due, and sets it to `due` if it has none. Read the clock
 * after the seat was granted.
 */
export function semaphoreHold(cell: usize, seats: i32, seat: i32, generation: i32, due: f64): f64 {
  const at = seatAt(cell, seats, seat);
  const known = load64(at + SEAT_due);
  if (isDueOf(known, generation)) return (known & DUE_MASK) as f64;
  // The instant may belong to the seat's next owner.
  if (generationOf(load64(at)) != generation) return due;
  const seen = exchange64(at + SEAT_due, known, dueWord(generation, due));
  return isDueOf(seen, generation) ? ((seen & DUE_MASK) as f64) : due;
}

/** The next seat from `from` on that holds permits and has no due instant; -1 if there is none. */
export function semaphoreUndated(cell: usize, seats: i32, from: i32): i32 {
  for (let seat = from; seat < seats; seat++) {
    const at = seatAt(cell, seats, seat);
    const now = load64(at);
    if (stateOf(now) != SEAT_STATE_held) continue;
    const generation = generationOf(now);
    if (isDueOf(load64(at + SEAT_due), generation)) continue;
    leaveGeneration(generation);
    return seat;
  }
  return -1;
}

/**
 * Returns the permits that are due at `now`, and the next due instant; Infinity if there is none.
 */
export function semaphoreExpire(cell: usize, seats: i32, now: f64): f64 {
  let next = Infinity;
  for (let seat = 0; seat < seats; seat++) {
    const at = seatAt(cell, seats, seat);
    const word = load64(at);
    if (stateOf(word) != SEAT_STATE_held) continue;
    const generation = generationOf(word);
    const known = load64(at + SEAT_due);
    if (!isDueOf(known, generation)) continue;
    const due = (known & DUE_MASK) as f64;
    if (due > now) next = min(next, due);
    else vacate(cell, seats, seat, generation, SEAT_STATE_held);
  }
  return next;
}
