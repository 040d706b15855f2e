import { exchange32, exchange64, load32, load64 } from './accesses';
import {
  CELL_word,
  MAX_WAITERS,
  NO_PERMIT_behind,
  NO_PERMIT_noWaiter,
  WAITER_BYTES,
  WAITER_CHANGE_changed,
  WAITER_CHANGE_granted,
  WAITER_CHANGE_joined,
  WAITER_due,
  WAITER_STATE_asked,
  WAITER_STATE_changing,
  WAITER_STATE_free,
  WAITER_STATE_held,
  WAITERS_AT,
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
  epochOf,
  held,
  isQueued,
  leaveEpoch,
  ownerOf,
  permitsOf,
  QUEUED,
  waiterAt,
  stateOf,
  vacate,
  wordOf,
} from './semaphore/waiter';

// The queue: a ring of entries, each of which names a caller's waiter. A thread that returns permits
// grants them to the waiter at the head; the caller itself need not act.

const EPOCH_SHIFT: i64 = 33;
const TICKET_SHIFT: i64 = 13;
const TICKET_MASK: i32 = 0xfffff;
const WAITER_MASK: i64 = MAX_WAITERS - 1;

function entryAt(cell: usize, waiters: i32, ticket: i32): usize {
  return cell + WAITERS_AT + waiters * WAITER_BYTES + (ticket & (waiters - 1)) * 8;
}

/** Whether an entry has this ticket, and not one of an earlier lap. */
function isOf(entry: i64, ticket: i32): bool {
  return ((entry >> TICKET_SHIFT) as i32 & TICKET_MASK) == (ticket & TICKET_MASK);
}

/** Puts a waiter at the end of the queue; false if the ring is full. */
function enqueue(cell: usize, waiters: i32, waiter: i32, epoch: i32): bool {
  while (true) {
    const ticket = load32(cell + SEMAPHORE_tail);
    if (ticket - load32(cell + SEMAPHORE_head) >= waiters) return false;
    const at = entryAt(cell, waiters, ticket);
    const before = load64(at);
    if (!isOf(before, ticket)) {
      const entry =
        ((epoch as i64) << EPOCH_SHIFT) |
        (((ticket & TICKET_MASK) as i64) << TICKET_SHIFT) |
        (waiter as i64);
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
 * Joins the queue with a waiter for `n` permits, and returns it. Call `semaphoreServe` afterwards.
 */
export function semaphoreJoin(cell: usize, waiters: i32, owner: i32, hint: i32, n: i32): i32 {
  const waiter = claim(cell, waiters, owner, hint, n, WAITER_STATE_asked);
  if (waiter < 0) return NO_PERMIT_noWaiter;
  const asked = claimed;
  const epoch = epochOf(asked);
  leaveEpoch(epoch);
  const at = waiterAt(cell, waiters, waiter);
  if (!enqueue(cell, waiters, waiter, epoch)) {
    exchange64(at, asked, freed(asked));
    return NO_PERMIT_noWaiter;
  }
  while (true) {
    const word = completed(cell, waiters);
    // Another thread may have served the queue already.
    if (load64(at) != asked) return waiter;
    const next = wordOf(waiter, epoch, availableOf(word), QUEUED, WAITER_CHANGE_joined);
    if (exchange64(cell + CELL_word, word, next) == word) return waiter;
  }
}

/**
 * Grants permits to the head of the queue and returns its owner, which the host wakes. Otherwise
 * returns that the queue is empty, or that the head must wait.
 */
export function semaphoreServe(cell: usize, waiters: i32): i32 {
  while (true) {
    const word = completed(cell, waiters);
    if (!isQueued(word)) return SERVED_nobody;
    const ticket = load32(cell + SEMAPHORE_head);
    const entry = load64(entryAt(cell, waiters, ticket));
    if (!isOf(entry, ticket)) {
      // Callers may have come and gone since, and the entry may be of a later lap.
      if (load32(cell + SEMAPHORE_head) != ticket) continue;
      if (exchange64(cell + CELL_word, word, word & ~QUEUED) == word) return SERVED_nobody;
      continue;
    }
    const waiter = (entry & WAITER_MASK) as i32;
    const at = waiterAt(cell, waiters, waiter);
    const asked = load64(at);
    const epoch = epochOf(entry);
    if (epochOf(asked) != epoch || stateOf(asked) != WAITER_STATE_asked) {
      exchange32(cell + SEMAPHORE_head, ticket, ticket + 1);
      continue;
    }
    const left = availableOf(word) - amountOf(asked);
    if (left < 0) return SERVED_waiting;
    const next = wordOf(waiter, epoch, left, QUEUED, WAITER_CHANGE_granted);
    if (exchange64(cell + CELL_word, word, next) == word) {
      exchange64(at, asked, held(asked));
      exchange32(cell + SEMAPHORE_head, ticket, ticket + 1);
      return ownerOf(asked);
    }
  }
}

/** Whether `semaphoreServe` has work to do at this word. */
function isHeadDue(cell: usize, waiters: i32, word: i64): bool {
  if (!isQueued(word)) return false;
  const ticket = load32(cell + SEMAPHORE_head);
  const entry = load64(entryAt(cell, waiters, ticket));
  if (!isOf(entry, ticket)) return load32(cell + SEMAPHORE_head) != ticket;
  const asked = load64(waiterAt(cell, waiters, (entry & WAITER_MASK) as i32));
  const isWaiting = epochOf(asked) == epochOf(entry) && stateOf(asked) == WAITER_STATE_asked;
  return !isWaiting || amountOf(asked) <= availableOf(word);
}

/** Whether a queued waiter has its permits. */
export function semaphoreIsGranted(cell: usize, waiters: i32, waiter: i32, epoch: i32): bool {
  completed(cell, waiters);
  const now = load64(waiterAt(cell, waiters, waiter));
  return epochOf(now) == epoch && stateOf(now) == WAITER_STATE_held;
}

/**
 * Whether the permits of a waiter that is not granted came back without its owner, which was slower
 * than `holdMs` to notice them. Its caller is in the queue no more.
 */
export function semaphoreIsVacated(cell: usize, waiters: i32, waiter: i32, epoch: i32): bool {
  return epochOf(load64(waiterAt(cell, waiters, waiter))) != epoch;
}

/** Leaves the queue; false if the waiter has its permits by now. */
export function semaphoreLeave(cell: usize, waiters: i32, waiter: i32, epoch: i32): bool {
  return vacate(cell, waiters, waiter, epoch, WAITER_STATE_asked) != WAITER_STATE_held;
}

/** Number of queued callers. A call of `semaphoreTake` may count briefly. */
export function semaphoreWaiting(cell: usize, waiters: i32): i32 {
  if (!isQueued(load64(cell + CELL_word))) return 0;
  let waiting = 0;
  for (let waiter = 0; waiter < waiters; waiter++) {
    if (stateOf(load64(waiterAt(cell, waiters, waiter))) == WAITER_STATE_asked) waiting++;
  }
  return waiting;
}

// The number of permits: a look at it, and its change. Both see the queue as served: returned
// permits belong to the head at once, even if its thread has not been woken yet.

// Results of the last look.
let available: i32 = 0;
let permits: i32 = 0;

/** Changes the number of permits and returns 0, unless the queue must be served first. */
export function semaphoreChange(cell: usize, waiters: i32, owner: i32, to: i32): i32 {
  const waiter = claim(cell, waiters, owner, 0, to, WAITER_STATE_changing);
  if (waiter < 0) return NO_PERMIT_noWaiter;
  const changing = claimed;
  const epoch = epochOf(changing);
  while (true) {
    const word = completed(cell, waiters);
    if (isHeadDue(cell, waiters, word)) {
      exchange64(waiterAt(cell, waiters, waiter), changing, freed(changing));
      return NO_PERMIT_behind;
    }
    const from = permitsOf(load64(cell + SEMAPHORE_permits));
    const left = availableOf(word) + to - from;
    const next = wordOf(waiter, epoch, left, word & QUEUED, WAITER_CHANGE_changed);
    if (exchange64(cell + CELL_word, word, next) == word) {
      complete(cell, waiters, next);
      return 0;
    }
  }
}

/**
 * Reads the number of permits and the available ones at one instant; false if the queue must be
 * served first.
 */
export function semaphoreLook(cell: usize, waiters: i32): bool {
  while (true) {
    const word = completed(cell, waiters);
    permits = permitsOf(load64(cell + SEMAPHORE_permits));
    available = availableOf(word);
    const isDue = isHeadDue(cell, waiters, word);
    if (load64(cell + CELL_word) == word) return !isDue;
  }
}

/** Whether a waiter is free at an instant of the call, by the proof of `claim`. A call under way has one. */
export function semaphoreHasRoom(cell: usize, waiters: i32): bool {
  let before: i32 = -1;
  while (true) {
    completed(cell, waiters);
    let epochs: i32 = 0;
    for (let waiter = 0; waiter < waiters; waiter++) {
      const now = load64(waiterAt(cell, waiters, waiter));
      if (stateOf(now) == WAITER_STATE_free) return true;
      epochs += epochOf(now);
    }
    if (epochs == before) return false;
    before = epochs;
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
 * Empties all waiters of an owner whose thread has ended, at any point of a call. Returns the number
 * of permits that came back.
 */
export function semaphoreRecover(cell: usize, waiters: i32, owner: i32): i32 {
  // Leave the queue first, so that nothing more is granted to it.
  recover(cell, waiters, owner, WAITER_STATE_asked);
  return recover(cell, waiters, owner, WAITER_STATE_free);
}

/** Empties the owner's waiters in one state, or all of them if that state is free. */
function recover(cell: usize, waiters: i32, owner: i32, only: i32): i32 {
  let returned = 0;
  for (let waiter = 0; waiter < waiters; waiter++) {
    const now = load64(waiterAt(cell, waiters, waiter));
    if (stateOf(now) == WAITER_STATE_free || ownerOf(now) != owner) continue;
    const state = vacate(cell, waiters, waiter, epochOf(now), only);
    if (state == WAITER_STATE_held && only == WAITER_STATE_free) returned += amountOf(now);
  }
  return returned;
}

/** Whether an owner has waiters, with permits or in the queue. Only the owner's thread can add one. */
export function semaphoreOwns(cell: usize, waiters: i32, owner: i32): bool {
  completed(cell, waiters);
  for (let waiter = 0; waiter < waiters; waiter++) {
    const now = load64(waiterAt(cell, waiters, waiter));
    if (stateOf(now) != WAITER_STATE_free && ownerOf(now) == owner) return true;
  }
  return false;
}

const DUE_BITS: i64 = 44;
const DUE_MASK: i64 = (1 << 44) - 1;

/** The word of a due instant. No waiter starts with the word of its first epoch. */
function dueWord(epoch: i32, due: f64): i64 {
  return (((epoch + 1) as i64) << DUE_BITS) | (due as i64);
}

/** Whether a due word belongs to an epoch. */
function isDueOf(word: i64, epoch: i32): bool {
  return ((word ^ dueWord(epoch, 0)) & ~DUE_MASK) == 0;
}

/**
 * Returns the instant at which a waiter is due, and sets it to `due` if it has none. Read the clock
 * after the waiter was granted.
 */
export function semaphoreHold(cell: usize, waiters: i32, waiter: i32, epoch: i32, due: f64): f64 {
  const at = waiterAt(cell, waiters, waiter);
  const known = load64(at + WAITER_due);
  if (isDueOf(known, epoch)) return (known & DUE_MASK) as f64;
  // The instant may belong to the waiter's next owner.
  if (epochOf(load64(at)) != epoch) return due;
  const seen = exchange64(at + WAITER_due, known, dueWord(epoch, due));
  return isDueOf(seen, epoch) ? ((seen & DUE_MASK) as f64) : due;
}

/** The next waiter from `from` on that holds permits and has no due instant; -1 if there is none. */
export function semaphoreUndated(cell: usize, waiters: i32, from: i32): i32 {
  for (let waiter = from; waiter < waiters; waiter++) {
    const at = waiterAt(cell, waiters, waiter);
    const now = load64(at);
    if (stateOf(now) != WAITER_STATE_held) continue;
    const epoch = epochOf(now);
    if (isDueOf(load64(at + WAITER_due), epoch)) continue;
    leaveEpoch(epoch);
    return waiter;
  }
  return -1;
}

/**
 * Returns the permits that are due at `now`, and the next due instant; Infinity if there is none.
 */
export function semaphoreExpire(cell: usize, waiters: i32, now: f64): f64 {
  let next = Infinity;
  for (let waiter = 0; waiter < waiters; waiter++) {
    const at = waiterAt(cell, waiters, waiter);
    const word = load64(at);
    if (stateOf(word) != WAITER_STATE_held) continue;
    const epoch = epochOf(word);
    const known = load64(at + WAITER_due);
    if (!isDueOf(known, epoch)) continue;
    const due = (known & DUE_MASK) as f64;
    if (due > now) next = min(next, due);
    else vacate(cell, waiters, waiter, epoch, WAITER_STATE_held);
  }
  return next;
}

// The exports of the module for semaphores.

export { failedExchanges } from './results';
export {
  adaptAdd,
  adaptClose,
  adaptCount,
  adaptDrop,
  adaptDropped,
  adaptDroppedEver,
  adaptFurther,
  adaptLasted,
  adaptMostInFlight,
  adaptPut,
  adaptSum,
  adaptValue,
} from './semaphore/adapt';
export {
  semaphoreEpoch,
  semaphoreIsQueued,
  semaphoreRelease,
  semaphoreTake,
} from './semaphore/waiter';
