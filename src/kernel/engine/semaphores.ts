import { exchange32, exchange64, load32, load64 } from './accesses';
import {
  CELL_word,
  MAX_SEATS,
  NO_PERMIT_behind,
  NO_PERMIT_noSeat,
  SEAT_BYTES,
  SEAT_CHANGE_changed,
  SEAT_CHANGE_granted,
  SEAT_CHANGE_joined,
  SEAT_due,
  SEAT_STATE_asked,
  SEAT_STATE_changing,
  SEAT_STATE_free,
  SEAT_STATE_held,
  SEATS_AT,
  SEMAPHORE_head,
  SEMAPHORE_permits,
  SEMAPHORE_tail,
  SERVED_nobody,
  SERVED_waiting,
} from './constants';
import {
  amountOf,
  availableOf,
  claim,
  claimed,
  complete,
  completed,
  freed,
  generationOf,
  held,
  isQueued,
  leaveGeneration,
  ownerOf,
  permitsOf,
  QUEUED,
  seatAt,
  stateOf,
  vacate,
  wordOf,
} from './semaphore/seat';

// The queue: a ring of entries, each of which names a caller's seat. A thread that returns permits
// grants them to the seat at the head; the caller itself need not act.

const GENERATION_SHIFT: i64 = 33;
const TICKET_SHIFT: i64 = 13;
const TICKET_MASK: i32 = 0xfffff;
const SEAT_MASK: i64 = MAX_SEATS - 1;

function entryAt(cell: usize, seats: i32, ticket: i32): usize {
  return cell + SEATS_AT + seats * SEAT_BYTES + (ticket & (seats - 1)) * 8;
}

/** Whether an entry has this ticket, and not one of an earlier lap. */
function isOf(entry: i64, ticket: i32): bool {
  return ((entry >> TICKET_SHIFT) as i32 & TICKET_MASK) == (ticket & TICKET_MASK);
}

/** Puts a seat at the end of the queue; false if the ring is full. */
function enqueue(cell: usize, seats: i32, seat: i32, generation: i32): bool {
  while (true) {
    const ticket = load32(cell + SEMAPHORE_tail);
    if (ticket - load32(cell + SEMAPHORE_head) >= seats) return false;
    const at = entryAt(cell, seats, ticket);
    const before = load64(at);
    if (!isOf(before, ticket)) {
      const entry =
        ((generation as i64) << GENERATION_SHIFT) |
        (((ticket & TICKET_MASK) as i64) << TICKET_SHIFT) |
        (seat as i64);
      if (exchange64(at, before, entry) == before) {
        exchange32(cell + SEMAPHORE_tail, ticket, ticket + 1);
        return true;
      }
    }
    // The caller that wrote this entry may stall before it counts it.
    exchange32(cell + SEMAPHORE_tail, ticket, ticket + 1);
  }
}

/**
 * Joins the queue with a seat for `n` permits, and returns it. Call `semaphoreServe` afterwards.
 */
export function semaphoreJoin(cell: usize, seats: i32, owner: i32, hint: i32, n: i32): i32 {
  const seat = claim(cell, seats, owner, hint, n, SEAT_STATE_asked);
  if (seat < 0) return NO_PERMIT_noSeat;
  const asked = claimed;
  const generation = generationOf(asked);
  leaveGeneration(generation);
  const at = seatAt(cell, seats, seat);
  if (!enqueue(cell, seats, seat, generation)) {
    exchange64(at, asked, freed(asked));
    return NO_PERMIT_noSeat;
  }
  while (true) {
    const word = completed(cell, seats);
    // Another thread may have served the queue already.
    if (load64(at) != asked) return seat;
    const next = wordOf(seat, generation, availableOf(word), QUEUED, SEAT_CHANGE_joined);
    if (exchange64(cell + CELL_word, word, next) == word) return seat;
  }
}

/**
 * Grants permits to the head of the queue and returns its owner, which the host wakes. Otherwise
 * returns that the queue is empty, or that the head must wait.
 */
export function semaphoreServe(cell: usize, seats: i32): i32 {
  while (true) {
    const word = completed(cell, seats);
    if (!isQueued(word)) return SERVED_nobody;
    const ticket = load32(cell + SEMAPHORE_head);
    const entry = load64(entryAt(cell, seats, ticket));
    if (!isOf(entry, ticket)) {
      // Callers may have come and gone since, and the entry may be of a later lap.
      if (load32(cell + SEMAPHORE_head) != ticket) continue;
      if (exchange64(cell + CELL_word, word, word & ~QUEUED) == word) return SERVED_nobody;
      continue;
    }
    const seat = (entry & SEAT_MASK) as i32;
    const at = seatAt(cell, seats, seat);
    const asked = load64(at);
    const generation = generationOf(entry);
    if (generationOf(asked) != generation || stateOf(asked) != SEAT_STATE_asked) {
      exchange32(cell + SEMAPHORE_head, ticket, ticket + 1);
      continue;
    }
    const left = availableOf(word) - amountOf(asked);
    if (left < 0) return SERVED_waiting;
    const next = wordOf(seat, generation, left, QUEUED, SEAT_CHANGE_granted);
    if (exchange64(cell + CELL_word, word, next) == word) {
      exchange64(at, asked, held(asked));
      exchange32(cell + SEMAPHORE_head, ticket, ticket + 1);
      return ownerOf(asked);
    }
  }
}

/** Whether `semaphoreServe` has work to do at this word. */
function isHeadDue(cell: usize, seats: i32, word: i64): bool {
  if (!isQueued(word)) return false;
  const ticket = load32(cell + SEMAPHORE_head);
  const entry = load64(entryAt(cell, seats, ticket));
  if (!isOf(entry, ticket)) return load32(cell + SEMAPHORE_head) != ticket;
  const asked = load64(seatAt(cell, seats, (entry & SEAT_MASK) as i32));
  const isWaiting =
    generationOf(asked) == generationOf(entry) && stateOf(asked) == SEAT_STATE_asked;
  return !isWaiting || amountOf(asked) <= availableOf(word);
}

/** Whether a queued seat has its permits. */
export function semaphoreIsGranted(cell: usize, seats: i32, seat: i32, generation: i32): bool {
  completed(cell, seats);
  const now = load64(seatAt(cell, seats, seat));
  return generationOf(now) == generation && stateOf(now) == SEAT_STATE_held;
}

/** Leaves the queue; false if the seat has its permits by now. */
export function semaphoreLeave(cell: usize, seats: i32, seat: i32, generation: i32): bool {
  return vacate(cell, seats, seat, generation, SEAT_STATE_asked) != SEAT_STATE_held;
}

/** Number of queued callers. A call of `semaphoreTake` may count briefly. */
export function semaphoreWaiting(cell: usize, seats: i32): i32 {
  if (!isQueued(load64(cell + CELL_word))) return 0;
  let waiting = 0;
  for (let seat = 0; seat < seats; seat++) {
    if (stateOf(load64(seatAt(cell, seats, seat))) == SEAT_STATE_asked) waiting++;
  }
  return waiting;
}

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

// The exports of the module for semaphores.

export { lostRaces } from './results';
export {
  adaptAdd,
  adaptClose,
  adaptCount,
  adaptDrop,
  adaptDropped,
  adaptDroppedEver,
  adaptInUse,
  adaptMostInFlight,
  adaptPut,
  adaptSum,
  adaptValue,
} from './semaphore/adapt';
export {
  semaphoreGeneration,
  semaphoreIsQueued,
  semaphoreRelease,
  semaphoreTake,
} from './semaphore/seat';
