import { exchange64, load64 } from './accesses';
import { DAMAGED, LATER, NEVER, NO_PLACE, TAG_BITS } from './constants';
import { decision } from './decision';
import { BEATEN, commit, leave, NO_ROOM, SENSELESS, take as takeEntry, taken } from './keyed-claim';
import { floorState, nowTicks, stateAtFirstSight, stateOf, zeroTimeOf } from './keyed-state';
import { find, identityOf, isLive, NONE, STATE, tagOf, tagOfOwner } from './keyed-table';
import { capTicks } from './limit';
import { loseRace } from './races';
import { leaveCost, leaveWord } from './receipt';

// Charges the bucket of a key, or gives the key one.

/** Among the waits: another thread was faster. */
const AGAIN: f64 = -6;
/** No state of a bucket. */
export const ANY: i64 = 0;

// What the last charge left.
/** The entry, or NONE. */
export let chargedEntry: usize = NONE;
export let chargedIdentity: i64 = 0;
/** What the bucket held, in ticks. */
export let heldTicks: f64 = 0;

export function forgetCharge(): void {
  chargedEntry = NONE;
}

export function leaveHeld(ticks: f64): void {
  heldTicks = ticks;
}

/** Ticks to wait for a cost above 0, LATER, NEVER, NO_PLACE or DAMAGED. With `only`, from that state only. */
export function chargeKey(cost: i64, maxWait: f64, only: i64): f64 {
  if (cost > capTicks) return NEVER;
  while (true) {
    const entry = find();
    const wait = entry == NONE ? insert(cost, maxWait) : charge(entry, cost, maxWait, only);
    if (wait != AGAIN) return wait;
  }
}

function leaveCharge(entry: usize, identity: i64, word: i64, cost: i64, held: i64): void {
  chargedEntry = entry;
  chargedIdentity = identity;
  heldTicks = held as f64;
  leaveWord(word);
  leaveCost(cost << TAG_BITS);
}

function charge(entry: usize, cost: i64, maxWait: f64, only: i64): f64 {
  const identity = identityOf(entry);
  if (identity == 0) return AGAIN;
  const tag = tagOfOwner(identity);
  let state = load64(entry + STATE);
  while (true) {
    if (tagOf(state) != tag) {
      // While a live entry has one identity, its states are of that version.
      return isLive(state) && identityOf(entry) == identity ? DAMAGED : AGAIN;
    }
    const zeroTime = zeroTimeOf(state);
    const wait = decision(zeroTime, nowTicks, capTicks, cost, maxWait, 0, 0);
    if (wait < 0 || (only != ANY && state != only)) {
      const again = load64(entry + STATE);
      if (again == state) {
        if (identityOf(entry) != identity) return AGAIN;
        heldTicks = (nowTicks - zeroTime) as f64;
        return LATER;
      }
      state = again;
      continue;
    }
    const next = stateOf(zeroTime + cost, tag);
    const seen = exchange64(entry + STATE, state, next);
    if (seen == state) {
      if (identityOf(entry) != identity) {
        // Reclaimed meanwhile: this charged another key's bucket. If that was charged again since, the
        // other key has lost the tokens; none are admitted for them.
        exchange64(entry + STATE, next, state);
        loseRace();
        return AGAIN;
      }
      leaveCharge(entry, identity, next, cost, nowTicks - zeroTime - cost);
      return wait;
    }
    loseRace();
    state = seen;
  }
}

function insert(cost: i64, maxWait: f64): f64 {
  const outcome = takeEntry(floorState());
  if (outcome == BEATEN) return AGAIN;
  // Another thread may have given the last place to this very key.
  if (outcome == NO_ROOM) return find() == NONE ? NO_PLACE : AGAIN;
  if (outcome == SENSELESS) return DAMAGED;
  const entry = taken;
  const identity = identityOf(entry);
  const zeroTime = stateAtFirstSight() >> TAG_BITS;
  const wait = decision(zeroTime, nowTicks, capTicks, cost, maxWait, 0, 0);
  if (wait < 0) {
    leave(entry);
    heldTicks = (nowTicks - zeroTime) as f64;
    return LATER;
  }
  const state = stateOf(zeroTime + cost, tagOfOwner(identity));
  if (!commit(entry, state)) return AGAIN;
  leaveCharge(entry, identity, state, cost, nowTicks - zeroTime - cost);
  return wait;
}
