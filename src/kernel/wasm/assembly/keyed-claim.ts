import { add64, exchange64, load64 } from './atomics';
import {
  BLOCK_BITS,
  FREE,
  KEYED_forgotten,
  KEYED_reclaimed,
  KEYED_ticketBlocks,
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
  isOfInterest,
  NONE,
  reach,
  saw,
  STATE,
  tagOf,
} from './keyed-table';

// Makes entries a key's, as keyed-claim.ts of the other kernel does: take, publish, look for rivals,
// commit. Only a commit admits, and it fails if the ticket is no longer there.

// What becomes of an attempt to take an entry.
export const TAKEN = 0;
export const FULL = 1;
export const BEATEN = 2;
export const SENSELESS = 3;

let cell: usize = 0;
let looks: i32 = 0;
let patience: i32 = 0;
let ticket: i64 = 0;
let ticketsLeft: i32 = 0;

/** The entry taken last. */
export let taken: usize = NONE;
/** Races lost over entries in this call. */
export let lostRaces: i32 = 0;

/** `most` is how patient it is with another thread. */
export function openClaims(table: usize, most: i32): void {
  cell = table;
  looks = most;
}

export function beginClaims(): void {
  lostRaces = 0;
  patience = looks;
}

/** Whether to wait once more for another thread. */
function isPatient(): bool {
  return patience-- > 0;
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
  let held: usize = NONE;
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
    } else if (tagOf(state) != TRANSIT) {
      return SENSELESS;
    } else if (held == NONE) {
      held = entry;
    }
    entry = after(entry, probe);
  }
  return held == NONE ? FULL : takeOver(held);
}

/** The entry's thread sleeps or was terminated: without its ticket it can't commit. */
function takeOver(entry: usize): i32 {
  if (isPatient()) return BEATEN;
  const state = load64(entry + STATE);
  return tagOf(state) == TRANSIT ? claim(entry, state) : BEATEN;
}

function claim(entry: usize, state: i64): i32 {
  const mine = nextTicket();
  if (exchange64(entry + STATE, state, mine) != state) {
    lostRaces++;
    return BEATEN;
  }
  if (isLive(state)) add64(cell + KEYED_reclaimed, 1);
  if (!publish(entry)) return takenOver();
  if (isAlone(entry)) {
    taken = entry;
    return TAKEN;
  }
  lostRaces++;
  return BEATEN;
}

/** This thread is slow itself: it gives the others all the time that they gave it. */
function takenOver(): i32 {
  lostRaces++;
  patience = looks;
  return BEATEN;
}

/** Writes the key into the entry taken; false if another thread has taken it over. */
function publish(entry: usize): bool {
  while (true) {
    const identity = load64(entry + IDENTITY);
    // Looked at after the identity: whoever holds the entry next changes the identity before it
    // commits, and then this exchange fails.
    if (load64(entry + STATE) != ticket) return false;
    const next = identityAfter(identity);
    if (exchange64(entry + IDENTITY, identity, next) == identity) return true;
  }
}

/**
 * Looks for another entry of the key. Of two threads that publish the same key, the later one sees
 * the other's entry; where both do, the one that comes first in the window wins. Leaves the entry if
 * it has lost.
 */
function isAlone(mine: usize): bool {
  let isBefore = true;
  let entry = home;
  for (let probe = 1; probe <= reach; probe++) {
    saw(probe);
    if (entry == mine) isBefore = false;
    while (entry != mine && isOfInterest(entry)) {
      const state = load64(entry + STATE);
      // No entry is given out beyond one that was never used.
      if (state == 0) return true;
      const live = isLive(state);
      if (identityOf(entry) == 0 || (!live && tagOf(state) != TRANSIT)) break;
      if (live || (isBefore && isPatient())) {
        leave(mine);
        return false;
      }
      // If the exchange fails the other has committed or given up: look at it again.
      if (exchange64(entry + STATE, state, FREE) == state) break;
    }
    entry = after(entry, probe);
  }
  return true;
}

/** Makes the entry taken last the key's own, in its first state; false if it was taken over. */
export function commit(entry: usize, state: i64): bool {
  if (exchange64(entry + STATE, ticket, state) == ticket) return true;
  takenOver();
  return false;
}

/** Gives the entry taken last to anybody. */
export function leave(entry: usize): void {
  exchange64(entry + STATE, ticket, FREE);
}
