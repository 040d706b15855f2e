import { exchange64, load64 } from '../accesses';
import { joined, ticksDown } from '../arithmetic';
import { MAX_SPAN_TICKS, TAG_BITS } from '../constants';
import { begin } from '.';
import { mostTicks } from './limits';
import { nowTicks, stateAtFirstSight, stateOf } from './state';
import { find, identityOf, isLive, isOwned, NONE, STATE, tagOfOwner } from './table';
import { capTicks, ticksPerToken } from '../bucket/limit';

// Moves a key's zero-time back: returned tokens, and cancelled admissions.

/** Tokens for a key without a bucket lapse, because they may belong to the shared bucket. */
export function returnTokens(high: u32, low: u32, nowUs: f64, tokens: f64): void {
  begin(high, low, nowUs);
  giveBack(ticksDown(tokens, ticksPerToken), capTicks);
}

/** Fills a key's bucket for every tier. */
export function reset(high: u32, low: u32, nowUs: f64): void {
  begin(high, low, nowUs);
  giveBack(MAX_SPAN_TICKS * 2, mostTicks);
}

/** Returns ticks to a bucket, up to `cap`. A bucket that holds more keeps them. */
function giveBack(amount: i64, cap: i64): void {
  while (true) {
    const entry = find();
    if (entry == NONE) return;
    const identity = identityOf(entry);
    const state = load64(entry + STATE);
    if (identity == 0 || !isLive(state)) continue;
    const floor = max(stateAtFirstSight() >> TAG_BITS, nowTicks - cap);
    const before = state >> TAG_BITS;
    if (before <= floor) return;
    const zeroTime = max(before - amount, floor);
    if (lower(entry, identity, state, stateOf(zeroTime, tagOfOwner(identity)))) return;
  }
}

/**
 * Moves a state back if it and its owner are unchanged. If the entry is reclaimed between the owner
 * check and the exchange, the exchange fails, because the next owner's states have another tag.
 */
function lower(entry: usize, identity: i64, from: i64, to: i64): bool {
  return isOwned(entry, identity) && exchange64(entry + STATE, from, to) == from;
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
