import { exchange64, load64 } from '../accesses';
import { DAMAGED, LATER, NEVER, NO_PLACE } from '../constants';
import { decision } from '../decision';
import { BEATEN, commit, leave, NO_ROOM, SENSELESS, take as takeEntry, taken } from './claim';
import { floorState, nowTicks, sinceFill, stateAtFirstSight, stateOf, zeroTimeOf } from './state';
import { find, hasRoom, identityOf, isLive, NONE, STATE, tagOf, tagOfOwner } from './table';
import { fillTicks } from '../bucket/limit';
import { leaveEntry, leaveWord, loseRace } from '../results';

// Charges a key's bucket, and creates it if the key has none.

/** Instead of a wait: another thread was faster, so try again. */
const AGAIN: f64 = -6;
/** Matches any state. No bucket has this state. */
export const ANY: i64 = 0;

/** The bucket's contents after the last charge, in ticks. */
export let heldTicks: i64 = 0;

export function leaveHeld(ticks: i64): void {
  heldTicks = ticks;
}

/**
 * Returns ticks to wait for a cost above 0, LATER, NEVER if it exceeds `most`, NO_PLACE or DAMAGED.
 * `only`: a state or ANY.
 */
export function chargeKey(cost: i64, maxWait: f64, only: i64, most: i64): f64 {
  if (cost > most) return NEVER;
  while (true) {
    const entry = find();
    const wait =
      entry == NONE ? insert(cost, maxWait, most) : charge(entry, cost, maxWait, only, most);
    if (wait != AGAIN) return wait;
  }
}

function leaveCharge(entry: usize, identity: i64, word: i64, held: i64): void {
  heldTicks = held;
  leaveEntry(entry, identity);
  leaveWord(word);
}

function charge(entry: usize, cost: i64, maxWait: f64, only: i64, most: i64): f64 {
  const identity = identityOf(entry);
  if (identity == 0) return AGAIN;
  const tag = tagOfOwner(identity);
  let state = load64(entry + STATE);
  while (true) {
    if (tagOf(state) != tag) {
      // Invariant: the states of a live entry have the version of its identity.
      return isLive(state) && identityOf(entry) == identity ? DAMAGED : AGAIN;
    }
    const zeroTime = zeroTimeOf(state);
    const wait = decision(zeroTime, nowTicks, most, cost, maxWait, fillTicks, sinceFill);
    if (wait < 0 || (only != ANY && state != only)) {
      const again = load64(entry + STATE);
      if (again == state) {
        if (identityOf(entry) != identity) return AGAIN;
        heldTicks = nowTicks - zeroTime;
        return LATER;
      }
      state = again;
      continue;
    }
    const next = stateOf(zeroTime + cost, tag);
    const seen = exchange64(entry + STATE, state, next);
    if (seen == state) {
      if (identityOf(entry) != identity) {
        // The entry was reclaimed, so this charged another key's bucket: undo it. If that bucket
        // was charged again since, its key loses the tokens, and no call is admitted for them.
        exchange64(entry + STATE, next, state);
        loseRace();
        return AGAIN;
      }
      leaveCharge(entry, identity, next, nowTicks - zeroTime - cost);
      return wait;
    }
    loseRace();
    state = seen;
  }
}

function insert(cost: i64, maxWait: f64, most: i64): f64 {
  const outcome = takeEntry(floorState());
  if (outcome == BEATEN) return AGAIN;
  // Another thread may have given the last place to this key.
  if (outcome == NO_ROOM) return find() == NONE ? NO_PLACE : AGAIN;
  if (outcome == SENSELESS) return DAMAGED;
  const entry = taken;
  const identity = identityOf(entry);
  const zeroTime = zeroTimeOf(stateAtFirstSight());
  const wait = decision(zeroTime, nowTicks, most, cost, maxWait, fillTicks, sinceFill);
  if (wait < 0) {
    leave(entry);
    heldTicks = nowTicks - zeroTime;
    return LATER;
  }
  const state = stateOf(zeroTime + cost, tagOfOwner(identity));
  if (!commit(entry, state)) return AGAIN;
  leaveCharge(entry, identity, state, nowTicks - zeroTime - cost);
  return wait;
}

/** The state that the last look found; ANY if the key has no bucket. */
export let seenState: i64 = ANY;

/** Reads the contents of the key's bucket without creating it; false if the key has no place. */
export function look(): bool {
  while (true) {
    const entry = find();
    if (entry == NONE) {
      seenState = ANY;
      if (hasRoom(floorState())) {
        const zeroTime = zeroTimeOf(stateAtFirstSight());
        leaveHeld(nowTicks - zeroTime);
        return true;
      }
      // Another thread may have given the last place to this key.
      if (find() == NONE) return false;
      continue;
    }
    const identity = identityOf(entry);
    const state = load64(entry + STATE);
    if (identity == 0 || !isLive(state) || identityOf(entry) != identity) continue;
    seenState = state;
    leaveHeld(nowTicks - zeroTimeOf(state));
    return true;
  }
}
