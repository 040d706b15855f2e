import { exchange32, exchange64, load32, load64 } from '../accesses';
import {
  CELL_word,
  MAX_SEATS,
  NO_PERMIT_noSeat,
  SEAT_BYTES,
  SEAT_CHANGE_granted,
  SEAT_CHANGE_joined,
  SEAT_STATE_asked,
  SEAT_STATE_held,
  SEATS_AT,
  SEMAPHORE_head,
  SEMAPHORE_tail,
  SERVED_nobody,
  SERVED_waiting,
} from '../constants';
import {
  amountOf,
  availableOf,
  claim,
  claimed,
  freed,
  generationOf,
  held,
  isQueued,
  ownerOf,
  QUEUED,
  seatAt,
  completed,
  stateOf,
  wordOf,
} from './seat';
import { leaveGeneration, vacate } from './semaphore';

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
export function isHeadDue(cell: usize, seats: i32, word: i64): bool {
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
