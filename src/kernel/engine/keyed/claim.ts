import { add64, exchange64, load64 } from '../accesses';
import { AGAIN, DAMAGED, KEYED_reclaimed, KEYED_watermark, NAMED, NO_PLACE } from '../constants';
import { freed, fullAt, heldAfter, isUnused } from './contents';
import { isInForce } from './records';
import {
  after,
  BYTES,
  cell,
  find,
  home,
  IDENTITY,
  identityAfter,
  identityOf,
  isHeld,
  isLive,
  isOfInterest,
  isRepeated,
  NONE,
  reach,
  saw,
  shared,
  start,
  STATE,
  tagOf,
} from './table';
import { failExchange } from '../results';

// Gives an entry to a key in five steps: take (put the entry in transit, under a ticket that is
// never reused), publish (write the identity), name (mark the state as named), look for rivals,
// commit. Only a commit admits, and it fails if the ticket is gone. Any thread can finish a named
// entry. docs/algorithms-keyed.md proves lock-freedom, and that no key ever has two live entries.

let looks: i32 = 0;
/** The state of the entry in transit that this call waits for, and its remaining looks. */
let awaited: i64 = 0;
let retryLimit: i32 = 0;
/**
 * False once this call has taken over or lost an entry; otherwise two calls could alternate
 * forever.
 */
let mayTakeOver: bool = true;
/** The state of the entry that this thread holds. */
export let held: i64 = 0;

/** The entry taken last. */
export let taken: usize = NONE;

/** `most`: the number of looks before this thread takes over another one's entry. */
export function openClaims(most: i32): void {
  looks = most;
}

export function beginClaims(): void {
  awaited = 0;
  mayTakeOver = true;
}

function exchangeState(entry: usize, from: i64, to: i64): bool {
  return exchange64(entry + STATE, from, to) == from;
}

/** Invariant: no reclaimed bucket was full later than this. */
export function watermark(): i64 {
  return load64(cell + KEYED_watermark);
}

/** The number of entries reclaimed from buckets that were full again. */
export function reclaimed(): f64 {
  return load64(cell + KEYED_reclaimed) as f64;
}

/** Raises the watermark to `floor` before a bucket goes that was full at `full`. */
export function forget(full: i64, floor: i64): void {
  while (true) {
    const before = watermark();
    if (before >= full) return;
    if (exchange64(cell + KEYED_watermark, before, floor) == before) return;
  }
}

/**
 * Takes an entry for a key that seems to have none: 0, AGAIN, NO_PLACE or DAMAGED. Buckets that are
 * full at `floor` are full.
 */
export function take(floor: i64): i32 {
  let entry = home;
  let inTransit: usize = NONE;
  let heldBy: i64 = 0;
  for (let probe = 1; probe <= reach; probe++) {
    saw(probe);
    const state = load64(entry + STATE);
    if (isUnused(state)) return claim(entry, state);
    if (isLive(state)) {
      const full = fullAt(entry, state);
      if (full <= floor) {
        // Forget it first: a thread that sees the bucket gone must also see how far it may have
        // been charged.
        forget(full, floor);
        return claim(entry, state);
      }
    } else if (!isHeld(state)) {
      return DAMAGED;
    } else if (tagOf(state) == NAMED && identityOf(entry) != 0) {
      return adopt(entry, state);
    } else if (inTransit == NONE) {
      inTransit = entry;
      heldBy = state;
    }
    entry = after(entry, probe);
  }
  return inTransit == NONE ? withoutRoom() : takeOver(inTransit, heldBy);
}

/** Joins another thread that gives the entry to the same key: either commit gives it to the key. */
function adopt(entry: usize, state: i64): i32 {
  held = state;
  return contest(entry);
}

/** Takes an entry from a stalled or terminated thread, which cannot commit without its ticket. */
function takeOver(entry: usize, state: i64): i32 {
  if (state != awaited) {
    awaited = state;
    retryLimit = looks;
  }
  if (retryLimit-- > 0) return AGAIN;
  return mayTakeOver ? claim(entry, state) : withoutRoom();
}

/** NO_PLACE, or AGAIN if another thread has given the last place to this key. */
function withoutRoom(): i32 {
  return find() == NONE && isInForce() ? NO_PLACE : AGAIN;
}

function claim(entry: usize, state: i64): i32 {
  const mine = heldAfter(entry, state);
  if (!exchangeState(entry, state, mine)) {
    failExchange();
    return AGAIN;
  }
  held = mine;
  if (isLive(state)) add64(cell + KEYED_reclaimed, 1);
  else if (isHeld(state)) mayTakeOver = false;
  publish(entry);
  return name(entry) ? contest(entry) : overtaken();
}

function contest(entry: usize): i32 {
  if (isAlone(entry)) {
    taken = entry;
    return 0;
  }
  failExchange();
  return AGAIN;
}

/** Another thread has taken, freed or finished this thread's entry. */
function overtaken(): i32 {
  failExchange();
  mayTakeOver = false;
  return AGAIN;
}

/** Writes the key into the taken entry, unless another thread has taken it over. */
function publish(entry: usize): void {
  while (true) {
    const identity = load64(entry + IDENTITY);
    // Load after the identity: the entry's next holder changes the identity before it commits, so
    // the exchange below then fails.
    if (load64(entry + STATE) != held) return;
    const next = identityAfter(identity);
    if (exchange64(entry + IDENTITY, identity, next) == identity) return;
  }
}

/** Shows other threads which key the entry is for; false if another thread has taken it over. */
function name(entry: usize): bool {
  const mine = held;
  held = mine | NAMED;
  return exchangeState(entry, mine, held);
}

/**
 * Looks for the key's other entries, and gives up `mine` if one is live, or named at an earlier
 * place in the window. An entry that the window repeats counts at its first place.
 */
function isAlone(mine: usize): bool {
  let isBefore = true;
  let entry = home;
  for (let probe = 1; probe <= reach; probe++) {
    saw(probe);
    if (entry == mine) isBefore = false;
    const isNew = entry != mine && !isRepeated(entry, probe);
    while (isNew && isOfInterest(entry)) {
      const state = load64(entry + STATE);
      // No entry beyond an unused one was ever given to a key.
      if (state == 0) return true;
      const live = isLive(state);
      if (identityOf(entry) == 0 || (!live && tagOf(state) != NAMED)) break;
      if (live || isBefore) {
        leave(mine);
        return false;
      }
      // If the exchange fails, the rival has committed or given up: look at it again.
      if (exchangeState(entry, state, freed(state))) break;
    }
    entry = after(entry, probe);
  }
  return true;
}

/** Makes the taken entry live in its first state; false if another thread has taken it over. */
export function commit(entry: usize, state: i64): bool {
  if (exchangeState(entry, held, state)) return true;
  overtaken();
  return false;
}

/** Frees the entry taken last. */
export function leave(entry: usize): void {
  exchangeState(entry, held, freed(held));
}

/** Whether the window has room for a key: 0, or as {@link take}. */
export function lookForRoom(floor: i64): i32 {
  let entry = home;
  for (let probe = 1; probe <= reach; probe++) {
    const state = load64(entry + STATE);
    if (!isLive(state) || fullAt(entry, state) <= floor) return 0;
    entry = after(entry, probe);
  }
  return withoutRoom();
}

/** The number of buckets that are not full at `floor`. */
export function countAbove(floor: i64): i32 {
  let count = 0;
  for (let entry = start; entry < shared; entry += BYTES) {
    const state = load64(entry + STATE);
    if (isLive(state) && fullAt(entry, state) > floor) count++;
  }
  return count;
}
