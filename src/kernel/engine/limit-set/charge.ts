import { exchange64, load64 } from '../accesses';
import { unitsBefore } from '../arithmetic';
import { tokensOf, untilHeld } from '../bucket/limit';
import { AGAIN, CROWDED, DAMAGED, ELSEWHERE, LATER, NEVER } from '../constants';
import { wholeTokens } from '../decision';
import {
  beginClaims,
  commit,
  held,
  leave,
  lookForRoom as lookInWindow,
  take,
  taken,
} from '../keyed/claim';
import { count, isInForce, limitIn } from '../keyed/records';
import {
  ANY,
  identityOf,
  isKeyed,
  isLive,
  NO_BUCKET,
  NONE,
  ownEntry,
  seek,
  shared,
  STATE,
} from '../keyed/table';
import {
  aim,
  CHARGE,
  copy,
  decideFrom,
  exceeds,
  FIRST_SIGHT,
  heldUnder,
  isFree,
  isPromised,
  queueUs,
  reportDecision,
  reports,
  TAKE,
} from './decision';
import {
  costOf,
  instantUs,
  isUnlimited,
  learn,
  leastBurst,
  live,
  priceOf,
  setInstant,
  useLimit,
} from './record';
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

export { copyNobody, reportAll as report } from './decision';
export { instantUs, learn as renew, setInstant } from './record';

// Changes the zero-times of an entry by one exchange of its state. No state recurs, so while the
// state is unchanged, its slot and the entry's owner are unchanged too. A call takes or checks its
// spare slot after it has loaded the state: if recovery takes the slot from a thread that stands
// still, it changes every state afterwards, so that the thread's exchange fails.

/** The state that the last look found, or NO_BUCKET. */
export let seenState: i64 = NO_BUCKET;
/** Its slot; FIRST_SIGHT if the key has no bucket. */
let seenSlot: usize = FIRST_SIGHT;

/**
 * Starts a call. `high` is the cell if the set has no keys, because its instance serves several
 * sets. False after a failure.
 */
export function begin(high: u32, low: u32, nowUs: f64): bool {
  beginExchanges();
  if (isKeyed) {
    seek(high, low);
    beginClaims();
  } else if (!isOpen(high as usize)) {
    failBecause(ELSEWHERE);
    return false;
  }
  failBecause(DAMAGED);
  return learn() && setInstant(nowUs);
}

/** Whether taking this many tokens changes nothing. */
export function isNothing(tokens: f64): bool {
  return tokens == 0 || isUnlimited;
}

/**
 * Takes tokens once: microseconds to wait, LATER, NEVER, NO_PLACE, AGAIN or a failure. A charge may
 * exceed the burst. `only`: a state, NO_BUCKET or ANY. With `reports`, also {@link report}s.
 */
export function takeOnce(
  tokens: f64,
  maxWaitUs: f64,
  isCharge: bool,
  only: i64,
  reports: bool,
): f64 {
  aim(isCharge ? CHARGE : TAKE, tokens, maxWaitUs, 0, reports);
  if (!isCharge && tokens > leastBurst && exceeds(tokens)) return NEVER;
  return chargeKey(tokens, only);
}

/** The same for the aim, if it takes tokens. */
export function chargeKey(n: f64, only: i64): f64 {
  forgetEntry();
  if (isNothing(n)) return 0;
  const entry = ownEntry();
  if (entry != NONE) return charge(entry, only);
  // The bucket in that state was full since, and is gone.
  return only == NO_BUCKET || only == ANY ? insert() : LATER;
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
  if (outcome != 0) return outcome;
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

/** A limit set has no tiers. */
export function mayChangeTier(): bool {
  return false;
}

/**
 * Copies the key's contents to the spare slot, without creating the bucket: 0, NO_PLACE, AGAIN or a
 * failure.
 */
export function lookOnce(): f64 {
  const entry = ownEntry();
  return entry == NONE ? lookForRoom() : lookAt(entry);
}

function lookForRoom(): f64 {
  seenState = NO_BUCKET;
  seenSlot = FIRST_SIGHT;
  if (!takeSpare()) return CROWDED;
  const room = lookInWindow(unitsBefore(instantUs));
  if (room != 0) return room;
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

// What the spare slot holds after a look.

/** The whole tokens under every limit, at most `most`. */
export function wholeHeld(most: f64): f64 {
  if (isPromised(seenSlot)) return 0;
  let whole = min(most, floor(leastBurst));
  for (let i = 0; i < count; i++) {
    const price = priceOf(limitIn(live, i)) as f64;
    if (price != 0) whole = wholeTokens(heldUnder(i), price, whole);
  }
  return whole;
}

/** The fewest tokens under any limit, negative in debt. */
export function fewestHeld(): f64 {
  let fewest = Infinity;
  for (let i = 0; i < count; i++) {
    useLimit(limitIn(live, i));
    fewest = min(fewest, tokensOf(heldUnder(i) as f64));
  }
  return fewest;
}

/** Microseconds until every limit has as many tokens. */
export function longestUntil(tokens: f64): f64 {
  // No token is granted before those that are promised.
  let longest = isNothing(tokens) ? 0 : max<f64>(0, queueUs);
  for (let i = 0; i < count; i++) {
    const limit = limitIn(live, i);
    useLimit(limit);
    const wanted = costOf(tokens, priceOf(limit)) as f64;
    longest = max(longest, untilHeld(instantUs, heldUnder(i) as f64, wanted));
  }
  return longest;
}
