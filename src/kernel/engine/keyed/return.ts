import { exchange64, load64 } from '../accesses';
import { joined, round, ticksDown } from '../arithmetic';
import { ticksPerMicro, ticksPerToken } from '../bucket/limit';
import { DAMAGED, LATER, NO_PLACE, TABLE_SPAN_TICKS } from '../constants';
import {
  begin,
  chargeKey,
  heldTicks,
  look,
  NO_BUCKET,
  renew,
  seenState,
  STALE,
  zeroTimeAtFirstSight,
} from './charge';
import { isInForce, tier, useTier, useWholeFill } from './limits';
import {
  bringStateUp,
  costOfSpan,
  currentZeroTime,
  heldBefore,
  instantUs,
  isUpToDate,
  longestWait,
  restNow,
  setInstant,
  sinceFill,
  stateOf,
  tierOf,
} from './state';
import { find, identityOf, isLive, isOwned, NONE, shared, STATE, tagOfOwner } from './table';

// Puts a key's bucket into debt. An entry in debt is never reclaimed.

/**
 * Empties a key's bucket for `us` microseconds, at most 8.9 years; a quantum bucket stays empty
 * until the next fill after that. A longer debt stays. Returns 0, DAMAGED, or NO_PLACE, also under an
 * unlimited limit, which knows no debt.
 */
export function block(high: u32, low: u32, nowUs: f64, us: f64): f64 {
  const asked = tier;
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    const answer = blockOnce(nowUs, us);
    useTier(asked);
    if (answer != STALE) return answer;
  }
  return DAMAGED;
}

/** 0, NO_PLACE, DAMAGED, or STALE if the limits or the bucket have changed. */
function blockOnce(nowUs: f64, us: f64): f64 {
  // A block does not depend on limits. It keeps the tier, unless the bucket is unused.
  const asked = tier;
  const entry = find();
  let state = entry == NONE ? NO_BUCKET : load64(entry + STATE);
  // After the state: its parity tells its record only to a call that knows the one in force.
  if (!isInForce()) return STALE;
  if (isLive(state) && !isUpToDate(state)) state = bringStateUp(entry + STATE, state);
  if (isLive(state) && tierOf(state) != asked) {
    useTier(tierOf(state));
    if (!renew(nowUs)) return DAMAGED;
    if (currentZeroTime(state) <= restNow()) {
      useTier(asked);
      if (!renew(nowUs)) return DAMAGED;
    }
  }
  // In windows, the last one is used up for every tier.
  useWholeFill();
  setInstant(instantUs);
  const looked = look();
  if (looked != 0) return looked;
  // Only from the state that has told the tier, so that a debt added by another thread is not added
  // to this.
  if (seenState != state) return STALE;
  if (ticksPerToken == 0) return NO_PLACE;
  const span = sinceFill + round(us * ticksPerMicro);
  const cost = costOfSpan(min(span, longestWait()) as i64) + heldBefore(heldTicks);
  if (cost <= 0) return 0;
  const wait = chargeKey(cost, Infinity, state, cost);
  // The span bounds the wait, so LATER means that the state has changed.
  return wait == LATER ? STALE : min<f64>(wait, 0);
}

// Moves a key's zero-time back: returned tokens, and cancelled admissions.

/** Tokens for a key without a bucket lapse, because they may belong to the shared bucket. */
export function returnTokens(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    if (giveBack(ticksDown(tokens, ticksPerToken)) != STALE) return 0;
  }
  return DAMAGED;
}

/**
 * Fills a key's bucket: 1, 0 if there is none or it is full, or DAMAGED. A full bucket is full for
 * every tier.
 */
export function reset(high: u32, low: u32, nowUs: f64): f64 {
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    const filled = giveBack(TABLE_SPAN_TICKS * 4);
    if (filled != STALE) return filled;
  }
  return DAMAGED;
}

/** Returns ticks to a bucket, up to what an unused one holds: 1, 0 if it holds that, or STALE. */
function giveBack(amount: i64): f64 {
  while (true) {
    const entry = find();
    if (entry == NONE) return 0;
    const identity = identityOf(entry);
    const state = load64(entry + STATE);
    if (identity == 0 || !isLive(state)) continue;
    const rest = zeroTimeAtFirstSight();
    if (!isInForce()) return STALE;
    if (!isUpToDate(state)) {
      bringStateUp(entry + STATE, state);
      continue;
    }
    const before = currentZeroTime(state);
    if (before <= rest && load64(entry + STATE) == state) return 0;
    const zeroTime = max(before - amount, rest);
    if (lower(entry, identity, state, stateOf(zeroTime, tagOfOwner(identity)))) return 1;
  }
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
