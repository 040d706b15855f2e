import { exchange64, load64 } from '../accesses';
import { unitsBefore, usOfUnits } from '../arithmetic';
import { capTicks, fillAt, fillTicks, nearestTick, ticksPerToken } from '../bucket/limit';
import { DAMAGED, FREE, LATER, LIVE, NEVER, NO_PLACE, OWNERS } from '../constants';
import { decision } from '../decision';
import {
  BEATEN,
  beginClaims,
  commit,
  watermark,
  hasRoom,
  leave,
  NO_ROOM,
  SENSELESS,
  take as takeEntry,
  taken,
} from './claim';
import { fastestPerMicro, gapTicks, isInForce, known, learnLimit } from './limits';
import {
  advanced,
  bringStateUp,
  instantUs,
  isUpToDate,
  longestWait,
  nowTicks,
  renewInstant,
  restNow,
  setInstant,
  sinceFill,
  stateOf,
  currentZeroTime,
  zeroTimeOf,
} from './state';
import {
  find,
  identityOf,
  isLive,
  NONE,
  ownersSince,
  seek,
  shared,
  STATE,
  tagOf,
  tagOfOwner,
} from './table';
import { beginExchanges, leaveEntry, leaveWord, failExchange } from '../results';

// Charges a key's bucket, and creates it if the key has none.

/** Instead of a wait: another thread was faster, so try again. */
const AGAIN: f64 = -6;
/** Instead of a wait: the limits have changed, so compute the cost again. */
export const STALE: f64 = -10;
/** Matches any state, and a key without a bucket. No bucket has this state. */
export const ANY: i64 = FREE;
/** Matches a key without a bucket. */
export const NO_BUCKET: i64 = 0;

/** The cost has been compared with the most that a bucket may be charged. */
const ANY_COST: i64 = i64.MAX_VALUE;

/** Starts a call under the limit that this thread knows; false if it is invalid. */
export function begin(high: u32, low: u32, nowUs: f64): bool {
  seek(high, low);
  beginClaims();
  beginExchanges();
  // A call that finds the limits changed since, when it has read what it decides on, renews them.
  if (known < 0) return renew(nowUs);
  setInstant(nowUs);
  return true;
}

/** Reads the limits again if they have changed; false if they are invalid. */
export function renew(nowUs: f64): bool {
  const isSound = learnLimit();
  setInstant(nowUs);
  return isSound;
}

/** The bucket's contents after the last charge, in ticks. */
export let heldTicks: i64 = 0;

export function leaveHeld(ticks: i64): void {
  heldTicks = ticks;
}

/**
 * Returns ticks to wait for a cost above 0, LATER, NEVER if it exceeds `most`, NO_PLACE, STALE or
 * DAMAGED. `only`: a state, NO_BUCKET or ANY.
 */
export function chargeKey(cost: i64, maxWait: f64, only: i64, most: i64): f64 {
  if (cost > most) return isInForce() ? NEVER : STALE;
  while (true) {
    const entry = find();
    // The bucket in that state was full since, and is gone.
    if (entry == NONE && only != NO_BUCKET && only != ANY) return LATER;
    const wait =
      entry == NONE ? insert(cost, maxWait) : charge(entry, identityOf(entry), cost, maxWait, only);
    if (wait != AGAIN) return wait;
  }
}

/** The same for the bucket of keys without a place. */
export function chargeShared(cost: i64, maxWait: f64, only: i64, most: i64): f64 {
  return cost <= most ? charge(shared, 0, cost, maxWait, only) : isInForce() ? NEVER : STALE;
}

function leaveCharge(entry: usize, identity: i64, word: i64, held: i64): void {
  heldTicks = held;
  leaveEntry(entry, identity);
  leaveWord(word);
}

/** Whether an entry still belongs to the owner with this identity. */
function isStill(entry: usize, identity: i64): bool {
  return entry == shared || identityOf(entry) == identity;
}

function charge(entry: usize, identity: i64, cost: i64, maxWait: f64, only: i64): f64 {
  if (identity == 0 && entry != shared) return AGAIN;
  const tag = entry == shared ? LIVE : tagOfOwner(identity);
  let state = load64(entry + STATE);
  while (true) {
    // After the state: it counts under this call's record or the one before, and its parity tells.
    if (!isInForce()) return STALE;
    // Invariant: the states of a live entry have the version of its identity.
    if (tagOf(state) != tag) return isLive(state) && isStill(entry, identity) ? DAMAGED : AGAIN;
    if (!isUpToDate(state)) {
      state = bringStateUp(entry + STATE, state);
      continue;
    }
    const zeroTime = zeroTimeOf(state);
    const added = advanced(zeroTime, cost) - zeroTime;
    const wait = decision(zeroTime, nowTicks, ANY_COST, added, maxWait, fillTicks, sinceFill);
    if (wait < 0 || (only != ANY && state != only)) {
      const again = load64(entry + STATE);
      if (again == state) {
        if (!isStill(entry, identity)) return AGAIN;
        heldTicks = nowTicks - zeroTime;
        return LATER;
      }
      state = again;
      continue;
    }
    const next = stateOf(zeroTime + added, tag);
    const seen = exchange64(entry + STATE, state, next);
    if (seen == state) {
      // An owner whose states have the same tag has come between only if as many have since.
      if (identity != 0 && ownersSince(entry, identity) >= OWNERS) {
        // The entry was reclaimed, so this charged another key's bucket: undo it. If that bucket
        // was charged again since, its key loses the tokens, and no call is admitted for them.
        exchange64(entry + STATE, next, state);
        failExchange();
        return AGAIN;
      }
      leaveCharge(entry, identity, next, nowTicks - zeroTime - added);
      return wait;
    }
    failExchange();
    state = seen;
  }
}

function insert(cost: i64, maxWait: f64): f64 {
  const outcome = takeEntry(unitsBefore(instantUs));
  if (outcome == BEATEN) return AGAIN;
  // Another thread may have given the last place to this key.
  if (outcome == NO_ROOM) return find() != NONE ? AGAIN : isInForce() ? NO_PLACE : STALE;
  if (outcome == SENSELESS) return DAMAGED;
  const entry = taken;
  const identity = identityOf(entry);
  // After the entry was taken: a change of the limits frees every entry that it finds in transit.
  if (!isInForce()) {
    leave(entry);
    return STALE;
  }
  const zeroTime = zeroTimeAtFirstSight();
  const added = advanced(zeroTime, cost) - zeroTime;
  const wait = decision(zeroTime, nowTicks, ANY_COST, added, maxWait, fillTicks, sinceFill);
  if (wait < 0) {
    leave(entry);
    heldTicks = nowTicks - zeroTime;
    return LATER;
  }
  const state = stateOf(zeroTime + added, tagOfOwner(identity));
  if (!commit(entry, state)) return AGAIN;
  leaveCharge(entry, identity, state, nowTicks - zeroTime - added);
  return wait;
}

/**
 * The zero-time of a key without a bucket: full, unless the clock was set back since a bucket was
 * reclaimed, because that bucket may have been this key's.
 */
export function zeroTimeAtFirstSight(): i64 {
  const gone = watermark();
  if (gone <= unitsBefore(instantUs)) return restNow();
  // A later time is known, so this call's time is old, or the clock was set back.
  renewInstant();
  if (gone <= unitsBefore(instantUs)) return restNow();
  const us = usOfUnits(gone);
  if (fillTicks != 0) return (fillAt(nearestTick(us)) as i64) - gapTicks - capTicks;
  // Its bucket may have been that of the fastest tier, and lacked what this fills until then.
  const missing = ceil((us - instantUs) * fastestPerMicro() * ticksPerToken);
  return restNow() + (min(missing, longestWait()) as i64);
}

/** The state that the last look found, or NO_BUCKET. */
export let seenState: i64 = NO_BUCKET;

/** Reads the contents of the key's bucket without creating it: 0, NO_PLACE or STALE. */
export function look(): f64 {
  while (true) {
    const entry = find();
    if (entry == NONE) {
      seenState = NO_BUCKET;
      if (hasRoom(unitsBefore(instantUs))) {
        const zeroTime = zeroTimeAtFirstSight();
        leaveHeld(nowTicks - zeroTime);
        return isInForce() ? 0 : STALE;
      }
      // Another thread may have given the last place to this key.
      if (find() == NONE) return isInForce() ? NO_PLACE : STALE;
      continue;
    }
    const identity = identityOf(entry);
    if (identity == 0) continue;
    const answer = lookAt(entry, identity);
    if (answer != AGAIN) return answer;
  }
}

export function lookAtShared(): f64 {
  while (true) {
    const answer = lookAt(shared, 0);
    if (answer != AGAIN) return answer;
  }
}

function lookAt(entry: usize, identity: i64): f64 {
  const state = load64(entry + STATE);
  if (!isLive(state)) return entry == shared ? DAMAGED : AGAIN;
  if (!isInForce()) return STALE;
  if (!isUpToDate(state)) {
    bringStateUp(entry + STATE, state);
    return AGAIN;
  }
  const zeroTime = currentZeroTime(state);
  if (load64(entry + STATE) != state || !isStill(entry, identity)) return AGAIN;
  seenState = state;
  leaveHeld(nowTicks - zeroTime);
  return 0;
}
