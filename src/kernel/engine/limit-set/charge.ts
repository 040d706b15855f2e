import { exchange64, load64 } from '../accesses';
import { unitsBefore } from '../arithmetic';
import { AGAIN, CROWDED, DAMAGED, ELSEWHERE, LATER, NEVER, NO_PLACE } from '../constants';
import {
  BEATEN,
  beginClaims,
  commit,
  hasRoom,
  held,
  leave,
  NO_ROOM,
  SENSELESS,
  take,
  taken,
} from '../keyed/claim';
import { find, identityOf, isKeyed, isLive, NONE, seek, shared, STATE } from '../keyed/table';
import {
  copy,
  decideFrom,
  exceeds,
  FIRST_SIGHT,
  isFree,
  reportDecision,
  reports,
  tokens,
} from './decision';
import { instantUs, isInForce, isUnlimited, learn, leastBurst, setInstant } from './record';
import { bringUp } from './schedule';
import {
  holdingOf,
  isOpen,
  isScheduledIn,
  isSlot,
  limitsIn,
  liveAfter,
  slotAt,
  slotOf,
  spare,
  swapSpare,
  takeSpare,
} from './slot';
import { beginExchanges, failBecause, failExchange, forgetEntry, leaveEntry } from '../results';

// Changes the zero-times of an entry by one exchange of its state. No state recurs, so while the
// state is unchanged, its slot and the entry's owner are unchanged too. A call takes or checks its
// spare slot after it has loaded the state: if recovery takes the slot from a thread that stands
// still, it changes every state afterwards, so that the thread's exchange fails.

/** Matches any state. Only a shared entry can have this state. */
export const ANY: i64 = 0;

/** The state that the last look found; ANY if the key has no bucket. */
export let seenState: i64 = ANY;
/** Its slot; FIRST_SIGHT if the key has no bucket. */
export let seenSlot: usize = FIRST_SIGHT;

/**
 * Starts a call. `high` is the cell if the set has no keys, because its instance serves several
 * sets. False after a failure.
 */
export function begin(high: u32, low: u32, nowUs: f64): bool {
  beginExchanges();
  if (isKeyed) {
    seek(high, low);
    beginClaims();
    isPlaceless = false;
  } else if (!isOpen(high as usize)) {
    failBecause(ELSEWHERE);
    return false;
  }
  failBecause(DAMAGED);
  return learn() && setInstant(nowUs);
}

/** Whether the key finds no place, and uses the shared entry. */
let isPlaceless: bool = false;

/** Lets the rest of this call use the shared entry. */
export function useShared(): void {
  isPlaceless = true;
}

/** The entry of the key, NONE if it has none; or the shared one. */
export function ownEntry(): usize {
  return isKeyed && !isPlaceless ? find() : shared;
}

/** Whether taking this many tokens changes nothing. */
export function isNothing(tokens: f64): bool {
  return tokens == 0 || isUnlimited;
}

/**
 * Returns microseconds to wait for the aim, LATER, NEVER, NO_PLACE or a failure. `only`: a state or
 * ANY.
 */
export function chargeKey(n: f64, mayExceed: bool, only: i64): f64 {
  forgetEntry();
  if (isNothing(n)) return 0;
  while (true) {
    if (!mayExceed && n > leastBurst && exceeds(n)) return NEVER;
    const entry = ownEntry();
    // The bucket in that state was full since, and is gone.
    if (entry == NONE && only != ANY) return LATER;
    const wait = entry == NONE ? insert() : charge(entry, only);
    if (wait != AGAIN) return wait;
    if (!learn()) return DAMAGED;
  }
}

/** The entry's identity, if the entry is the key's in this state. */
let identity: i64 = 0;

function isOurs(entry: usize, state: i64): bool {
  identity = entry == shared ? 0 : identityOf(entry);
  return entry == shared || (isLive(state) && identity != 0);
}

/** The holding of the slot that an entry names, as {@link openEntry} found it. */
let holding: i64 = 0;

/** Prepares to read the slot of an entry's state: 0, AGAIN or a failure. */
export function openEntry(entry: usize, state: i64): f64 {
  // The identity is read while the entry has this state, or the exchange fails.
  if (!isOurs(entry, state)) return AGAIN;
  if (!takeSpare()) return CROWDED;
  const slot = slotOf(entry, state);
  if (!isSlot(slot)) return DAMAGED;
  holding = holdingOf(slotAt(slot));
  return bringUp(entry, state, slot, limitsIn(holding));
}

function charge(entry: usize, only: i64): f64 {
  let state = load64(entry + STATE);
  while (true) {
    const opened = openEntry(entry, state);
    if (opened != 0) return opened;
    const slot = slotOf(entry, state);
    const wait = decideFrom(slotAt(slot), isScheduledIn(holding));
    if (reports) reportDecision(wait);
    if (wait < 0 || isFree || (only != ANY && state != only)) {
      const again = load64(entry + STATE);
      if (again == state) return isFree ? 0 : wait == NEVER ? NEVER : LATER;
      state = again;
      continue;
    }
    const seen = exchange64(entry + STATE, state, liveAfter(state, spare));
    if (seen == state) {
      swapSpare(slot, holding);
      leaveEntry(entry, identity);
      return wait;
    }
    failExchange();
    state = seen;
  }
}

function insert(): f64 {
  if (!takeSpare()) return CROWDED;
  const outcome = take(unitsBefore(instantUs));
  if (outcome == BEATEN) return AGAIN;
  // Another thread may have given the last place to this key.
  if (outcome == NO_ROOM) return find() == NONE ? NO_PLACE : AGAIN;
  if (outcome == SENSELESS) return DAMAGED;
  const entry = taken;
  const slot = slotOf(entry, held);
  const wait = decideFrom(FIRST_SIGHT, false);
  if (reports) reportDecision(wait);
  // After the entry was taken: a change of the limits frees every entry that it finds in transit.
  const isStale = !isInForce() || !takeSpare();
  if (wait < 0 || isFree || isStale || !isSlot(slot)) {
    leave(entry);
    if (!isSlot(slot)) return DAMAGED;
    return isStale ? AGAIN : wait;
  }
  identity = identityOf(entry);
  const named = holdingOf(slotAt(slot));
  if (!commit(entry, liveAfter(held, spare))) return AGAIN;
  swapSpare(slot, named);
  leaveEntry(entry, identity);
  return wait;
}

/**
 * Copies the key's contents to the spare slot, without creating the bucket: 0, NO_PLACE or a
 * failure.
 */
export function look(): f64 {
  while (true) {
    const entry = ownEntry();
    const answer = entry == NONE ? lookForRoom() : lookAt(entry);
    if (answer != AGAIN) return answer;
    if (!learn()) return DAMAGED;
  }
}

function lookForRoom(): f64 {
  seenState = ANY;
  seenSlot = FIRST_SIGHT;
  if (!takeSpare()) return CROWDED;
  if (!hasRoom(unitsBefore(instantUs))) return find() == NONE ? NO_PLACE : AGAIN;
  copy(FIRST_SIGHT, false);
  return isInForce() ? 0 : AGAIN;
}

function lookAt(entry: usize): f64 {
  const state = load64(entry + STATE);
  const opened = openEntry(entry, state);
  if (opened != 0) return opened;
  seenSlot = slotAt(slotOf(entry, state));
  seenState = state;
  copy(seenSlot, isScheduledIn(holding));
  return load64(entry + STATE) == state ? 0 : AGAIN;
}
