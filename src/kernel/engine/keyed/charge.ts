import { exchange64, load64 } from '../accesses';
import { round, unitsBefore, usOfUnits } from '../arithmetic';
import {
  burst,
  capTicks,
  costOf,
  fillAt,
  fillTicks,
  nearestTick,
  ticksPerMicro,
  ticksPerToken,
  tokensOf,
  untilHeld,
} from '../bucket/limit';
import {
  AGAIN,
  DAMAGED,
  LATER,
  LIVE,
  NEVER,
  OWNERS,
  TABLE_SPAN_TICKS,
  ZERO_TIME_SHIFT,
} from '../constants';
import { decision, wholeTokens } from '../decision';
import {
  beginClaims,
  commit,
  watermark,
  leave,
  lookForRoom as lookInWindow,
  take,
  taken,
} from './claim';
import { fastestPerMicro, gapTicks, learnLimit } from './limits';
import { isInForce, known } from './records';
import {
  advanced,
  bringStateUp,
  heldBefore,
  instantUs,
  isSlower,
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
  ANY,
  identityOf,
  isLive,
  NO_BUCKET,
  NONE,
  ownEntry,
  ownersSince,
  seek,
  shared,
  STATE,
  tagOf,
  tagOfOwner,
} from './table';
import {
  beginExchanges,
  failExchange,
  forgetEntry,
  leaveCost,
  leaveEntry,
  leaveOutcome,
  leaveWord,
} from '../results';

export { instantUs, setInstant } from './state';

// Charges a key's bucket, and creates it if the key has none.

/** The cost has been compared with the most that a bucket may be charged. */
const ANY_COST: i64 = i64.MAX_VALUE;

/** Starts a call under the limit that this thread knows; false if it is invalid. */
export function begin(high: u32, low: u32, nowUs: f64): bool {
  seek(high, low);
  beginClaims();
  beginExchanges();
  setInstant(nowUs);
  // A call that finds the limits changed since, when it has read what it decides on, renews them.
  return known >= 0 || renew();
}

/** Reads the limits again if they have changed; false if they are invalid. */
export function renew(): bool {
  const isSound = learnLimit();
  setInstant(instantUs);
  return isSound;
}

/** The bucket's contents after the last charge or look, in ticks. */
export let heldTicks: i64 = 0;

/** Whether taking this many tokens changes nothing. */
export function isNothing(tokens: f64): bool {
  return costOf(tokens) == 0;
}

/**
 * Takes tokens once: microseconds to wait, LATER, NEVER, NO_PLACE, AGAIN or DAMAGED. A charge may
 * exceed the burst. `only`: a state, NO_BUCKET or ANY. With `reports`, also {@link report}s.
 */
export function takeOnce(
  tokens: f64,
  maxWaitUs: f64,
  isCharge: bool,
  only: i64,
  reports: bool,
): f64 {
  const cost = costOf(tokens);
  forgetEntry();
  leaveWord(0);
  leaveCost(cost << ZERO_TIME_SHIFT);
  const maxWait = maxWaitUs == 0 ? 0 : min(round(maxWaitUs * ticksPerMicro), longestWait());
  const most = isCharge ? TABLE_SPAN_TICKS : capTicks;
  const wait = chargeKey(cost, maxWait, only, most);
  if (reports) report(tokens, wait == 0);
  return wait > 0 ? wait / ticksPerMicro : wait;
}

/** Leaves the state after a decision about `tokens`, from what the bucket holds. */
export function report(tokens: f64, isAdmitted: bool): void {
  leaveOutcome(instantUs, heldTicks as f64, costOf(tokens) as f64, isAdmitted);
}

/** The whole tokens that the bucket holds, at most `most`. */
export function wholeHeld(most: f64): f64 {
  const whole = min(most, floor(burst));
  return ticksPerToken == 0 ? whole : wholeTokens(heldTicks, ticksPerToken, whole);
}

/** The tokens that the bucket holds. */
export function fewestHeld(): f64 {
  return tokensOf(heldBefore(heldTicks) as f64);
}

/** Microseconds until the bucket holds as many tokens. */
export function longestUntil(tokens: f64): f64 {
  return untilHeld(instantUs, heldTicks as f64, costOf(tokens) as f64);
}

/** Lets a key without a place hold the full burst, or nothing. */
export function copyNobody(isFull: bool): void {
  heldTicks = isFull ? capTicks : 0;
}

/**
 * Returns ticks to wait, LATER, NEVER for a cost above `most`, NO_PLACE, DAMAGED, or AGAIN if the
 * limits or the entry have changed. `only`: as for {@link takeOnce}.
 */
export function chargeKey(cost: i64, maxWait: f64, only: i64, most: i64): f64 {
  if (cost == 0 || cost > most) return !isInForce() ? AGAIN : cost == 0 ? 0 : NEVER;
  const entry = ownEntry();
  if (entry != NONE) return charge(entry, cost, maxWait, only);
  // The bucket in that state was full since, and is gone.
  return only == NO_BUCKET || only == ANY ? insert(cost, maxWait) : LATER;
}

function leaveCharge(entry: usize, identity: i64, word: i64): void {
  leaveEntry(entry, identity);
  leaveWord(word);
}

/** Whether an entry still belongs to the owner with this identity. */
function isStill(entry: usize, identity: i64): bool {
  return entry == shared || identityOf(entry) == identity;
}

function charge(entry: usize, cost: i64, maxWait: f64, only: i64): f64 {
  const identity = entry == shared ? 0 : identityOf(entry);
  if (identity == 0 && entry != shared) return AGAIN;
  const tag = entry == shared ? LIVE : tagOfOwner(identity);
  let state = load64(entry + STATE);
  while (true) {
    // After the state: it counts under this call's record or the one before, and its parity tells.
    if (!isInForce()) return AGAIN;
    // Invariant: the states of a live entry have the version of its identity.
    if (tagOf(state) != tag) return isLive(state) && isStill(entry, identity) ? DAMAGED : AGAIN;
    if (!isUpToDate(state)) {
      state = bringStateUp(entry + STATE, state);
      continue;
    }
    const zeroTime = zeroTimeOf(state);
    const added = advanced(zeroTime, cost) - zeroTime;
    const wait = decision(zeroTime, nowTicks, ANY_COST, added, maxWait, fillTicks, sinceFill);
    const isGranted = wait >= 0 && (only == ANY || state == only);
    // A refused key that owes nothing changes to a faster tier too: it is to refill at the rate by
    // which it was told to wait. All tiers of windows have one pace.
    const isMoved = wait < 0 && isSlower(state) && zeroTime <= nowTicks;
    const charged = isGranted ? added : 0;
    const next = isGranted || isMoved ? stateOf(zeroTime + charged, tag) : state;
    const seen = next == state ? load64(entry + STATE) : exchange64(entry + STATE, state, next);
    if (seen != state) {
      if (next != state) failExchange();
      state = seen;
      continue;
    }
    // An owner whose states have the same tag has come between only if as many have since.
    if (identity != 0 && ownersSince(entry, identity) >= OWNERS) {
      // The entry was reclaimed, so this wrote another key's bucket: undo it. If that bucket was
      // charged again since, its key loses the tokens, and no call is admitted for them.
      exchange64(entry + STATE, next, state);
      failExchange();
      return AGAIN;
    }
    heldTicks = nowTicks - zeroTime - charged;
    if (!isGranted) return LATER;
    leaveCharge(entry, identity, next);
    return wait;
  }
}

function insert(cost: i64, maxWait: f64): f64 {
  const outcome = take(unitsBefore(instantUs));
  if (outcome != 0) return outcome;
  const entry = taken;
  const identity = identityOf(entry);
  // After the entry was taken: a change of the limits frees every entry that it finds in transit.
  if (!isInForce()) {
    leave(entry);
    return AGAIN;
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
  heldTicks = nowTicks - zeroTime - added;
  leaveCharge(entry, identity, state);
  return wait;
}

/** The instant of {@link zeroTimeAtFirstSight}, in units. */
export let firstSight: i64 = 0;

/**
 * The zero-time of a key without a bucket: full, unless the clock was set back since a bucket was
 * reclaimed, because that bucket may have been this key's.
 */
export function zeroTimeAtFirstSight(): i64 {
  const gone = watermark();
  // If a later time is known, this call's time is old, or the clock was set back.
  if (gone > unitsBefore(instantUs)) renewInstant();
  firstSight = unitsBefore(instantUs);
  if (gone <= firstSight) return restNow();
  const us = usOfUnits(gone);
  if (fillTicks != 0) return (fillAt(nearestTick(us)) as i64) - gapTicks - capTicks;
  // Its bucket may have been that of the fastest tier, and lacked what this fills until then.
  const missing = ceil((us - instantUs) * fastestPerMicro() * ticksPerToken);
  return restNow() + (min(missing, longestWait()) as i64);
}

/** The state that the last look found, or NO_BUCKET. */
export let seenState: i64 = NO_BUCKET;

/** Whether a refused call may change the tier of that state. */
export function mayChangeTier(): bool {
  return isSlower(seenState);
}

/** Reads the contents of the key's bucket without creating it: 0, NO_PLACE, AGAIN or DAMAGED. */
export function lookOnce(): f64 {
  const entry = ownEntry();
  return entry == NONE ? lookForRoom() : lookAt(entry);
}

function lookForRoom(): f64 {
  seenState = NO_BUCKET;
  const room = lookInWindow(unitsBefore(instantUs));
  if (room != 0) return room;
  // First, because it may read the clock again.
  const zeroTime = zeroTimeAtFirstSight();
  heldTicks = nowTicks - zeroTime;
  return isInForce() ? 0 : AGAIN;
}

/** {@link lookOnce} at an entry. */
export function lookAt(entry: usize): f64 {
  const identity = entry == shared ? 0 : identityOf(entry);
  if (identity == 0 && entry != shared) return AGAIN;
  const state = load64(entry + STATE);
  if (!isLive(state)) return entry == shared ? DAMAGED : AGAIN;
  if (!isInForce()) return AGAIN;
  if (!isUpToDate(state)) {
    bringStateUp(entry + STATE, state);
    return AGAIN;
  }
  const zeroTime = currentZeroTime(state);
  if (load64(entry + STATE) != state || !isStill(entry, identity)) return AGAIN;
  seenState = state;
  heldTicks = nowTicks - zeroTime;
  return 0;
}
