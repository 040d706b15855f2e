import { exchange64, load64 } from '../accesses';
import {
  CELL_word,
  MAX_WAITERS,
  NO_PERMIT_behind,
  NO_PERMIT_noWaiter,
  NO_PERMIT_refused,
  WAITER_BYTES,
  WAITER_CHANGE_changed,
  WAITER_CHANGE_granted,
  WAITER_CHANGE_returned,
  WAITER_STATE_asked,
  WAITER_STATE_changing,
  WAITER_STATE_free,
  WAITER_STATE_held,
  WAITERS_AT,
  SEMAPHORE_permits,
} from '../constants';
import { beginExchanges, failExchange } from '../results';

// The words of a semaphore. Every exchange of its word names one waiter and the change to it. The
// first thread that reaches the waiter makes that change.
//
// Invariant: a waiter's change is complete before the word that names it is exchanged again. So the
// word and the waiter that it names together always determine which permits are in use.

const EPOCH_SHIFT: i64 = 33;
const VALUE_SHIFT: i64 = 16;
const VALUE_MASK: i64 = 0x1ffff;
const WAITER_SHIFT: i64 = 3;
const WAITER_MASK: i64 = MAX_WAITERS - 1;
const N_SHIFT: i64 = 16;
const OWNER_SHIFT: i64 = 8;
const OWNER_MASK: i64 = 0xff;
const STATE_MASK: i64 = 7;
const CHANGE_MASK: i64 = 3;

/** The bit of the word that is set while the queue may have callers. */
export const QUEUED: i64 = 4;

/** 31 bits. */
export function epochOf(word: i64): i32 {
  return ((word as u64) >> EPOCH_SHIFT) as i32;
}

// The semaphore's word. The word of its permits has the same form.

export function availableOf(word: i64): i32 {
  // Sign-extends 17 bits.
  return ((word << (47 - VALUE_SHIFT)) >> 47) as i32;
}

export function isQueued(word: i64): bool {
  return (word & QUEUED) != 0;
}

export function wordOf(waiter: i32, epoch: i32, available: i32, queued: i64, change: i32): i64 {
  return (
    ((epoch as i64) << EPOCH_SHIFT) |
    (((available as i64) & VALUE_MASK) << VALUE_SHIFT) |
    ((waiter as i64) << WAITER_SHIFT) |
    queued |
    change
  );
}

export function permitsOf(permits: i64): i32 {
  return ((permits >> VALUE_SHIFT) & VALUE_MASK) as i32;
}

// Waiters.

export function waiterAt(cell: usize, waiters: i32, waiter: i32): usize {
  return cell + WAITERS_AT + (waiter & (waiters - 1)) * WAITER_BYTES;
}

export function asking(free: i64, n: i32, owner: i32, state: i32): i64 {
  return (
    ((epochOf(free) as i64) << EPOCH_SHIFT) |
    ((n as i64) << N_SHIFT) |
    ((owner as i64) << OWNER_SHIFT) |
    state
  );
}

export function stateOf(waiter: i64): i32 {
  return (waiter & STATE_MASK) as i32;
}

export function amountOf(waiter: i64): i32 {
  return ((waiter >> N_SHIFT) & VALUE_MASK) as i32;
}

export function ownerOf(waiter: i64): i32 {
  return ((waiter >> OWNER_SHIFT) & OWNER_MASK) as i32;
}

export function held(asked: i64): i64 {
  return asked - WAITER_STATE_asked + WAITER_STATE_held;
}

/** The free waiter of the next epoch. */
export function freed(waiter: i64): i64 {
  return ((waiter >> EPOCH_SHIFT) + 1) << EPOCH_SHIFT;
}

/**
 * Takes a free waiter, near `hint` if possible; -1 if none is free.
 *
 * Proof: a waiter that becomes free gets a new epoch. So if two looks in a row get no waiter and see
 * the same epochs, no waiter was free between them.
 */
export function claim(cell: usize, waiters: i32, owner: i32, hint: i32, n: i32, state: i32): i32 {
  let before: i32 = -1;
  while (true) {
    let epochs: i32 = 0;
    for (let step = 0; step < waiters; step++) {
      const waiter = (hint + step) & (waiters - 1);
      const at = waiterAt(cell, waiters, waiter);
      const free = load64(at);
      epochs += epochOf(free);
      if (stateOf(free) != WAITER_STATE_free) continue;
      claimed = asking(free, n, owner, state);
      if (exchange64(at, free, claimed) == free) return waiter;
    }
    if (epochs == before) return -1;
    before = epochs;
  }
}

/** The word of the waiter claimed last. */
export let claimed: i64 = 0;

/**
 * Completes the change of the waiter that a word names. A waiter gets a new epoch when it becomes
 * free, so a late attempt changes nothing.
 */
export function complete(cell: usize, waiters: i32, word: i64): void {
  const waiter = ((word >> WAITER_SHIFT) & WAITER_MASK) as i32;
  const at = waiterAt(cell, waiters, waiter);
  const now = load64(at);
  if (epochOf(now) != epochOf(word)) return;
  const change = (word & CHANGE_MASK) as i32;
  if (change == WAITER_CHANGE_granted) {
    if (stateOf(now) == WAITER_STATE_asked) exchange64(at, now, held(now));
  } else if (change == WAITER_CHANGE_returned) {
    exchange64(at, now, freed(now));
  } else if (change == WAITER_CHANGE_changed && stateOf(now) == WAITER_STATE_changing) {
    const permits = load64(cell + SEMAPHORE_permits);
    // While the waiter is unchanged, no later change can have written other permits.
    if (load64(at) == now) {
      const next = wordOf(waiter, epochOf(now), amountOf(now), 0, 0);
      exchange64(cell + SEMAPHORE_permits, permits, next);
    }
    exchange64(at, now, freed(now));
  }
}

/** The word, after the change that it names is complete. */
export function completed(cell: usize, waiters: i32): i64 {
  const word = load64(cell + CELL_word);
  complete(cell, waiters, word);
  return word;
}

// Takes and returns permits. docs/algorithms-semaphore.md has the proof.

let taken: i32 = 0;

/** The epoch of the waiter that the last call took. */
export function semaphoreEpoch(): i32 {
  return taken;
}

export function leaveEpoch(last: i32): void {
  taken = last;
}

/**
 * Takes `n` permits and returns their waiter, or the reason for a refusal. Available permits belong
 * to the queue, if it has callers.
 */
export function semaphoreTake(cell: usize, waiters: i32, owner: i32, hint: i32, n: i32): i32 {
  let waiter = -1;
  let asked: i64 = 0;
  beginExchanges();
  while (true) {
    const word = load64(cell + CELL_word);
    const left = availableOf(word) - n;
    if (left < 0 || isQueued(word)) {
      if (waiter >= 0) exchange64(waiterAt(cell, waiters, waiter), asked, freed(asked));
      return left < 0 ? NO_PERMIT_refused : NO_PERMIT_behind;
    }
    if (waiter < 0) {
      waiter = claim(cell, waiters, owner, hint, n, WAITER_STATE_asked);
      if (waiter < 0) return NO_PERMIT_noWaiter;
      asked = claimed;
      taken = epochOf(asked);
    }
    complete(cell, waiters, word);
    const next = wordOf(waiter, taken, left, 0, WAITER_CHANGE_granted);
    if (exchange64(cell + CELL_word, word, next) == word) {
      exchange64(waiterAt(cell, waiters, waiter), asked, held(asked));
      return waiter;
    }
    failExchange();
  }
}

/**
 * Empties a waiter, returns its permits, and returns the state that it had. Leaves a waiter of another
 * epoch alone, and, unless `only` is free, a waiter in a state other than `only`.
 */
export function vacate(cell: usize, waiters: i32, waiter: i32, epoch: i32, only: i32): i32 {
  const at = waiterAt(cell, waiters, waiter);
  while (true) {
    const word = completed(cell, waiters);
    const now = load64(at);
    const state = stateOf(now);
    if (epochOf(now) != epoch || state == WAITER_STATE_free) return WAITER_STATE_free;
    if (only != WAITER_STATE_free && state != only) return state;
    const left = availableOf(word) + (state == WAITER_STATE_held ? amountOf(now) : 0);
    const next = wordOf(waiter, epoch, left, word & QUEUED, WAITER_CHANGE_returned);
    if (exchange64(cell + CELL_word, word, next) == word) {
      exchange64(at, now, freed(now));
      return state;
    }
    failExchange();
  }
}

/** Returns the permits of a waiter; false if it holds none of that epoch. */
export function semaphoreRelease(cell: usize, waiters: i32, waiter: i32, epoch: i32): bool {
  beginExchanges();
  return vacate(cell, waiters, waiter, epoch, WAITER_STATE_held) == WAITER_STATE_held;
}

/** Whether the queue may have callers. */
export function semaphoreIsQueued(cell: usize): bool {
  return isQueued(load64(cell + CELL_word));
}
