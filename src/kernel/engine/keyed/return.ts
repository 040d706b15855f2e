import { exchange64, load64 } from '../accesses';
import { joined, ticksDown } from '../arithmetic';
import { ticksPerToken } from '../bucket/limit';
import { DAMAGED, TABLE_SPAN_TICKS } from '../constants';
import { begin, renew } from '.';
import { bringUp, isUpToDate } from './carry';
import { shared, zeroTimeAtFirstSight } from './charge';
import { isInForce } from './limits';
import { stateOf, zeroTimeOf } from './state';
import { find, identityOf, isLive, isOwned, NONE, STATE, tagOfOwner } from './table';

// Moves a key's zero-time back: returned tokens, and cancelled admissions.

/** Tokens for a key without a bucket lapse, because they may belong to the shared bucket. */
export function returnTokens(high: u32, low: u32, nowUs: f64, tokens: f64): f64 {
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    if (giveBack(ticksDown(tokens, ticksPerToken))) return 0;
  }
  return DAMAGED;
}

/** Fills a key's bucket. A full bucket is full for every tier. */
export function reset(high: u32, low: u32, nowUs: f64): f64 {
  for (let isSound = begin(high, low, nowUs); isSound; isSound = renew(nowUs)) {
    if (giveBack(TABLE_SPAN_TICKS * 4)) return 0;
  }
  return DAMAGED;
}

/** Returns ticks to a bucket, up to what an unused one holds; false if the limits have changed. */
function giveBack(amount: i64): bool {
  while (true) {
    const entry = find();
    if (entry == NONE) return true;
    const identity = identityOf(entry);
    const state = load64(entry + STATE);
    if (identity == 0 || !isLive(state)) continue;
    const rest = zeroTimeAtFirstSight();
    if (!isInForce()) return false;
    if (!isUpToDate(state)) {
      bringUp(entry + STATE, state);
      continue;
    }
    const before = zeroTimeOf(state);
    if (before <= rest && load64(entry + STATE) == state) return true;
    const zeroTime = max(before - amount, rest);
    if (lower(entry, identity, state, stateOf(zeroTime, tagOfOwner(identity)))) return true;
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
