import { exchange64, load64, peek64 } from '../accesses';
import { DAMAGED, KEYED_SLOT_mark, LATER, NEVER, NO_PLACE } from '../constants';
import { BEATEN, commit, held, leave, NO_ROOM, SENSELESS, take, taken } from '../keyed/claim';
import { isInForce, isNothing, learnAll, leastBurst } from './limits';
import { areSlots, holdingOf, slotAt, spare, swapSpare } from './slot';
import { copy, exceeds, FIRST_SIGHT, isFree, reportSurvey, sign, survey } from './survey';
import { liveAfter, slotOf } from './state';
import { instantUs, nowTicks, setInstant } from '../keyed/state';
import { find, hasRoom, identityOf, isLive, NONE, STATE } from '../keyed/table';
import { forgetEntry, leaveCost, leaveEntry, leaveWord, loseRace } from '../results';

// Changes a key's zero-times by one exchange of its entry's state. No state recurs, so while the
// state is unchanged, its slot and the entry's owner are unchanged too.

/** Instead of a wait: another thread was faster, or changed the limits, so try again. */
export const AGAIN: f64 = -6;
/** Matches any state. Only a shared bucket can have this state. */
export const ANY: i64 = 0;

/** The entry shared by keys without a place. It is beyond the table and always live. */
let shared: usize = NONE;

/** The state that the last look found; ANY if the key has no bucket. */
export let seenState: i64 = ANY;

export function isShared(entry: usize): bool {
  return entry == shared;
}

export function openCharges(entry: usize): void {
  shared = entry;
}

function forgetCharge(): void {
  forgetEntry();
  leaveWord(0);
  leaveCost(0);
}

/** Reads the limits again, and the instant by their clock; false if they are invalid. */
export function relearn(): bool {
  if (!learnAll()) return false;
  setInstant(instantUs);
  return true;
}

/** Returns ticks to wait for the aim, LATER, NEVER, NO_PLACE or DAMAGED. `only`: a state or ANY. */
export function chargeKey(n: f64, mayExceed: bool, only: i64): f64 {
  forgetCharge();
  if (isNothing(n)) return 0;
  while (true) {
    if (!mayExceed && n > leastBurst && exceeds(n)) return NEVER;
    const entry = find();
    const wait = entry == NONE ? insert() : charge(entry, only);
    if (wait != AGAIN) return wait;
    if (!isInForce() && !relearn()) return DAMAGED;
  }
}

/** Charges the shared bucket of keys without a place. */
export function chargeShared(only: i64): f64 {
  while (true) {
    const wait = charge(shared, only);
    if (wait != AGAIN) return wait;
    if (!relearn()) return DAMAGED;
  }
}

/** The entry's identity, if the entry is the key's in this state. */
let identity: i64 = 0;

function isOurs(entry: usize, state: i64): bool {
  identity = entry == shared ? 0 : identityOf(entry);
  return entry == shared || (isLive(state) && identity != 0);
}

function leaveCharge(entry: usize, mark: i64, before: i64): void {
  leaveEntry(entry, identity);
  leaveWord(mark);
  leaveCost(before);
}

function charge(entry: usize, only: i64): f64 {
  let state = load64(entry + STATE);
  while (true) {
    // The identity is read while the entry has this state, or the exchange below fails.
    if (!isOurs(entry, state)) return AGAIN;
    const slot = slotOf(entry, state);
    if (!areSlots(slot)) return DAMAGED;
    const wait = survey(slotAt(slot));
    reportSurvey(wait);
    if (!isInForce()) return AGAIN;
    if (wait < 0 || isFree || (only != ANY && state != only)) {
      const again = load64(entry + STATE);
      if (again == state) return isFree ? 0 : wait == NEVER ? NEVER : LATER;
      state = again;
      continue;
    }
    const before = peek64(slotAt(slot) + KEYED_SLOT_mark);
    const next = liveAfter(state, spare);
    sign(next);
    const holding = holdingOf(slot);
    const seen = exchange64(entry + STATE, state, next);
    if (seen == state) {
      swapSpare(slot, holding);
      leaveCharge(entry, next, before);
      return wait;
    }
    loseRace();
    state = seen;
  }
}

function insert(): f64 {
  const outcome = take(nowTicks);
  if (outcome == BEATEN) return AGAIN;
  // Another thread may have given the last place to this key.
  if (outcome == NO_ROOM) return find() == NONE ? NO_PLACE : AGAIN;
  if (outcome == SENSELESS) return DAMAGED;
  const entry = taken;
  const slot = slotOf(entry, held);
  const wait = survey(FIRST_SIGHT);
  reportSurvey(wait);
  const isStale = !isInForce();
  if (wait < 0 || isFree || isStale || !areSlots(slot)) {
    leave(entry);
    if (!areSlots(slot)) return DAMAGED;
    return isStale ? AGAIN : wait;
  }
  const next = liveAfter(held, spare);
  sign(next);
  identity = identityOf(entry);
  const holding = holdingOf(slot);
  if (!commit(entry, next)) return AGAIN;
  swapSpare(slot, holding);
  leaveCharge(entry, next, 0);
  return wait;
}

/**
 * Copies the key's contents to the spare slot, without creating the bucket: 0, NO_PLACE or DAMAGED.
 */
export function look(): f64 {
  while (true) {
    const entry = find();
    const answer = entry == NONE ? lookForRoom() : lookAt(entry);
    if (answer != AGAIN) return answer;
    if (!isInForce() && !relearn()) return DAMAGED;
  }
}

function lookForRoom(): f64 {
  seenState = ANY;
  if (!hasRoom(nowTicks)) return find() == NONE ? NO_PLACE : AGAIN;
  copy(FIRST_SIGHT);
  return isInForce() ? 0 : AGAIN;
}

export function lookAtShared(): f64 {
  while (true) {
    const answer = lookAt(shared);
    if (answer != AGAIN) return answer;
    if (!isInForce() && !relearn()) return DAMAGED;
  }
}

function lookAt(entry: usize): f64 {
  const state = load64(entry + STATE);
  if (!isOurs(entry, state)) return AGAIN;
  const slot = slotOf(entry, state);
  if (!areSlots(slot)) return DAMAGED;
  copy(slotAt(slot));
  seenState = state;
  return isInForce() && load64(entry + STATE) == state ? 0 : AGAIN;
}
