import { exchange64, load64 } from '../accesses';
import { joined, round, ticksDown } from '../arithmetic';
import { ticksPerMicro, ticksPerToken } from '../bucket/limit';
import { AGAIN, DAMAGED, LATER, NO_PLACE } from '../constants';
import {
  chargeKey,
  firstSight,
  heldTicks,
  lookAt,
  lookOnce,
  renew,
  seenState,
  zeroTimeAtFirstSight,
} from './charge';
import { forget } from './claim';
import { freed } from './contents';
import { tier, useTier, useWholeFill } from './limits';
import { isInForce } from './records';
import {
  bringStateUp,
  costOfSpan,
  currentZeroTime,
  heldBefore,
  instantUs,
  isUpToDate,
  longestWait,
  nowTicks,
  restNow,
  setInstant,
  sinceFill,
  stateOf,
  tierOf,
} from './state';
import {
  identityOf,
  isLive,
  isOwned,
  NO_BUCKET,
  NONE,
  ownEntry,
  shared,
  STATE,
  tagOf,
} from './table';

// Puts a key's bucket into debt. An entry in debt is never reclaimed.

/**
 * Empties a bucket for a time: 0, NO_PLACE, DAMAGED, or AGAIN if the limits or the bucket have
 * changed. A quantum bucket stays empty until the next fill after that.
 */
export function emptyOnce(us: f64): f64 {
  const asked = tier;
  const answer = emptyUnder(asked, us);
  // Also ends the use of the whole fill.
  useTier(asked);
  return answer;
}

/** Goes on under another tier; false if its limit is invalid. */
function isUnder(index: i32): bool {
  if (index == tier) return true;
  useTier(index);
  return renew();
}

function emptyUnder(asked: i32, us: f64): f64 {
  // A block does not depend on limits. It keeps the tier, unless the bucket is unused.
  const entry = ownEntry();
  let state = entry == NONE ? NO_BUCKET : load64(entry + STATE);
  // After the state: its parity tells its record only to a call that knows the one in force.
  if (!isInForce()) return AGAIN;
  if (isLive(state)) {
    if (!isUpToDate(state)) state = bringStateUp(entry + STATE, state);
    if (!isUnder(tierOf(state))) return DAMAGED;
    if (currentZeroTime(state) <= restNow() && !isUnder(asked)) return DAMAGED;
  }
  // In windows, the last one is used up for every tier.
  useWholeFill();
  setInstant(instantUs);
  const looked = lookOnce();
  if (looked != 0) return looked;
  // Only from the state that has told the tier, so that a debt added by another thread is not added
  // to this.
  if (seenState != state) return AGAIN;
  if (ticksPerToken == 0) return NO_PLACE;
  const span = sinceFill + round(us * ticksPerMicro);
  const cost = costOfSpan(min(span, longestWait()) as i64) + heldBefore(heldTicks);
  if (cost <= 0) return 0;
  const wait = chargeKey(cost, Infinity, state, cost);
  // The span bounds the wait, so LATER means that the state has changed.
  return wait == LATER ? AGAIN : min<f64>(wait, 0);
}

// Moves a key's zero-time back: returned tokens, and cancelled admissions.

/**
 * Returns tokens to a bucket, up to what an unused one holds, or fills it: 1 if it was filled, 0 or
 * AGAIN. Under the tier that the bucket has, so that a debt does not grow. A full bucket is full for
 * every tier, as is a key without one: filling frees the entry, so that no state recurs for which
 * {@link cancel} has a receipt.
 */
export function giveBackOnce(entry: usize, tokens: f64): f64 {
  const asked = tier;
  const answer = giveBackUnder(entry, tokens);
  if (tier != asked) useTier(asked);
  return answer;
}

function giveBackUnder(entry: usize, tokens: f64): f64 {
  if (!isUnder(tierOf(load64(entry + STATE)))) return DAMAGED;
  const fills = tokens == Infinity;
  const identity = identityOf(entry);
  const rest = zeroTimeAtFirstSight();
  const looked = lookAt(entry);
  if (looked != 0) return looked;
  // A call under another tier has come between.
  if (tierOf(seenState) != tier) return AGAIN;
  const before = nowTicks - heldTicks;
  if (before <= rest) return 0;
  let next = freed(seenState);
  if (fills) forget(firstSight, firstSight);
  else next = stateOf(max(before - ticksDown(tokens, ticksPerToken), rest), tagOf(seenState));
  return lower(entry, identity, seenState, next) ? (fills ? 1 : 0) : AGAIN;
}

/**
 * Moves a state back if it and its owner are unchanged. If the entry is reclaimed between the owner
 * check and the exchange, the exchange fails, because the next owner's states have another tag.
 */
function lower(entry: usize, identity: i64, from: i64, to: i64): bool {
  const isStill = entry == shared || isOwned(entry, identity);
  return isStill && exchange64(entry + STATE, from, to) == from;
}

/** Cancels the admission of a receipt; `high` is the high half of the key's hash. */
export function cancel(
  entry: i32,
  high: i32,
  version: i32,
  wordLow: i32,
  wordHigh: i32,
  costLow: i32,
  costHigh: i32,
): bool {
  const word = joined(wordLow, wordHigh);
  const cost = joined(costLow, costHigh);
  if (entry == 0) return cost == 0;
  return lower((entry as usize) << 3, joined(version, high), word, word - cost);
}
