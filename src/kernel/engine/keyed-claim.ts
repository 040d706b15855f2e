import { add64, exchange64, load64 } from './accesses';
import {
  BLOCK_BITS,
  FREE,
  KEYED_forgotten,
  KEYED_reclaimed,
  KEYED_ticketBlocks,
  NAMED,
  TAG_BITS,
  TRANSIT,
} from './constants';
import {
  after,
  home,
  IDENTITY,
  identityAfter,
  identityOf,
  isLive,
  isRepeated,
  isOfInterest,
  NONE,
  reach,
  saw,
  STATE,
  tagOf,
} from './keyed-table';
import { loseRace } from './races';

// Makes entries a key's, in five steps: take (the entry is in transit, under a ticket that is never
// used again), publish (write the identity), name (say so in the state), look for rivals, commit. Only a
// commit admits, and it fails if the ticket is gone. Any thread can finish an entry that is named.
// docs/algorithms-keyed.md proves that no key has two live entries, and lock-freedom.

// The outcome of an attempt to take an entry.
export const TAKEN = 0;
export const NO_ROOM = 1;
export const BEATEN = 2;
export const SENSELESS = 3;

let cell: usize = 0;
let looks: i32 = 0;
/** The state of an entry in transit that this call waits for, and the looks that are left. */
let awaited: i64 = 0;
let patience: i32 = 0;
/** Not once this call has done so, or has lost an entry: two could do it in turns for ever. */
let mayTakeOver: bool = true;
/** The state of the entry that this thread holds. */
let held: i64 = 0;
let ticket: i64 = 0;
let ticketsLeft: i32 = 0;

/** The entry taken last. */
export let taken: usize = NONE;

/** `most` is how patient it is with another thread. */
export function openClaims(table: usize, most: i32): void {
  cell = table;
  looks = most;
}

export function beginClaims(): void {
  awaited = 0;
  mayTakeOver = true;
}

/** Whether an entry is in transit, named or not. */
function isHeld(state: i64): bool {
  return tagOf(state) == TRANSIT || tagOf(state) == NAMED;
}

function exchangeState(entry: usize, from: i64, to: i64): bool {
  return exchange64(entry + STATE, from, to) == from;
}

/** No bucket that was ever forgotten had a higher state than this. */
export function forgotten(): i64 {
  return load64(cell + KEYED_forgotten);
}

function forget(state: i64, floor: i64): void {
  while (true) {
    const before = forgotten();
    if (before >= state) return;
    if (exchange64(cell + KEYED_forgotten, before, floor) == before) return;
  }
}

function nextTicket(): i64 {
  if (ticketsLeft == 0) {
    const block = add64(cell + KEYED_ticketBlocks, 1);
    ticket = (block << (BLOCK_BITS + TAG_BITS)) | TRANSIT;
    ticketsLeft = 1 << BLOCK_BITS;
  } else {
    ticket += 1 << TAG_BITS;
  }
  ticketsLeft--;
  return ticket;
}

/** Takes an entry for the key, which has none, as far as was seen. `floor`: a bucket just full. */
export function take(floor: i64): i32 {
  let entry = home;
  let inTransit: usize = NONE;
  let heldBy: i64 = 0;
  for (let probe = 1; probe <= reach; probe++) {
    saw(probe);
    const state = load64(entry + STATE);
    if (state == 0 || state == FREE) return claim(entry, state);
    if (isLive(state)) {
      if (state <= floor) {
        // First, so that whoever sees that the bucket is gone can see how far it may have been charged.
        forget(state, floor);
        return claim(entry, state);
      }
    } else if (!isHeld(state)) {
      return SENSELESS;
    } else if (tagOf(state) == NAMED && identityOf(entry) != 0) {
      return adopt(entry, state);
    } else if (inTransit == NONE) {
      inTransit = entry;
      heldBy = state;
    }
    entry = after(entry, probe);
  }
  return inTransit == NONE ? NO_ROOM : takeOver(inTransit, heldBy);
}

/** Another thread gives the entry to this very key: whichever commits first, the key has it. */
function adopt(entry: usize, state: i64): i32 {
  held = state;
  return settle(entry);
}

/** After many looks: the entry's thread sleeps or was terminated. Without its ticket it can't commit. */
function takeOver(entry: usize, state: i64): i32 {
  if (state != awaited) {
    awaited = state;
    patience = looks;
  }
  if (patience-- > 0) return BEATEN;
  return mayTakeOver ? claim(entry, state) : NO_ROOM;
}

function claim(entry: usize, state: i64): i32 {
  const mine = nextTicket();
  if (!exchangeState(entry, state, mine)) {
    loseRace();
    return BEATEN;
  }
  held = mine;
  if (isLive(state)) add64(cell + KEYED_reclaimed, 1);
  else if (isHeld(state)) mayTakeOver = false;
  publish(entry);
  return name(entry) ? settle(entry) : overtaken();
}

function settle(entry: usize): i32 {
  if (isAlone(entry)) {
    taken = entry;
    return TAKEN;
  }
  loseRace();
  return BEATEN;
}

/** Another thread has taken this one's entry, or freed it, or was the first to finish it. */
function overtaken(): i32 {
  loseRace();
  mayTakeOver = false;
  return BEATEN;
}

/** Writes the key into the entry taken, unless another thread has taken it over. */
function publish(entry: usize): void {
  while (true) {
    const identity = load64(entry + IDENTITY);
    // Looked at after the identity: whoever holds the entry next changes the identity before it
    // commits, and then this exchange fails.
    if (load64(entry + STATE) != held) return;
    const next = identityAfter(identity);
    if (exchange64(entry + IDENTITY, identity, next) == identity) return;
  }
}

/** Tells the other threads whose the entry is going to be; false if another has taken it over. */
function name(entry: usize): bool {
  const mine = held;
  held = mine | NAMED;
  return exchangeState(entry, mine, held);
}

/**
 * Looks for another entry of the key. Of two threads that name the same key, the later one sees the
 * other's entry; where both do, the one that comes first in the window wins. Leaves the entry if it
 * has lost. An entry that the window comes by again is not judged twice: it would come after this one
 * then.
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
      // No entry is given out beyond one that was never used.
      if (state == 0) return true;
      const live = isLive(state);
      if (identityOf(entry) == 0 || (!live && tagOf(state) != NAMED)) break;
      if (live || isBefore) {
        leave(mine);
        return false;
      }
      // If the exchange fails the other has committed or given up: look at it again.
      if (exchangeState(entry, state, FREE)) break;
    }
    entry = after(entry, probe);
  }
  return true;
}

/** Makes the entry taken last the key's own, in its first state; false if it was taken over. */
export function commit(entry: usize, state: i64): bool {
  if (exchangeState(entry, held, state)) return true;
  overtaken();
  return false;
}

/** Gives the entry taken last to anybody. */
export function leave(entry: usize): void {
  exchangeState(entry, held, FREE);
}
