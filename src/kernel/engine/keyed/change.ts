import { exchange32, exchange64, load32, load64, readI64, store32 } from '../accesses';
import { claimAfter, isClaimed, NONE, put32, putF64, putI64, release } from '../claim';
import {
  carryIndex,
  keepOrigin,
  newCapTicks,
  newLimit,
  placeOrigin,
  writeLimit,
} from '../bucket/new-record';
import { readLimit } from '../bucket/limit';
import {
  AGAIN,
  BUSY,
  CLAIM_ATTEMPTS,
  DAMAGED,
  INDEX_BITS,
  INDEX_MASK,
  KEYED_claims,
  KEYED_LIMIT_rest,
  KEYED_live,
  KEYED_RECORD_before,
  KEYED_RECORD_sinceUs,
  KEYED_swept,
  LIVE_VERSION_MASK,
  NAMED,
  RECORD_COUNT,
  TABLE_SPAN_TICKS,
  TRANSIT,
} from '../constants';
import { restAfter, stateBroughtUp } from './carry';
import { shared } from './charge';
import { forgetLimit, isInForce, known, learnLimit, limitIn, recordOf } from './limits';
import { BYTES, isLive, start, STATE, tagOf } from './table';
import { freed } from './word';

// Changes the limits of a table: fills a record that no state needs, exchanges the live word, and
// then sweeps: brings every entry up to the new record. A call that meets an entry before the sweep
// brings it up itself. A change first completes the sweep of the one before, so that a state counts
// under the live record or under the one before it, and its parity tells which.

let table: usize = 0;
/** The claimed record. */
let place: i32 = 0;
/** The word that the change is to replace, the instant of the change, and whether all went well. */
let before: i32 = 0;
let changeUs: f64 = 0;
let isSound: bool = true;

export function openChanges(cell: usize): void {
  table = cell;
}

/**
 * Claims a record that the live word does not name; NONE if none is free. Every entry has been
 * brought up to the live record, so no state needs another one, unless a change came in between.
 */
function claim(): i32 {
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
    const index = claimAfter(load32(table + KEYED_live), table + KEYED_claims);
    if (index == NONE) continue;
    const live = load32(table + KEYED_live);
    if ((live & INDEX_MASK) != index && load32(table + KEYED_swept) == live) return index;
    release(index);
    if (sweep() != 0) return NONE;
  }
  return NONE;
}

/** Completes the last change, and claims a record for one as of an instant: 0 or a failure. */
export function beginChange(nowUs: f64): f64 {
  const outcome = sweep();
  if (outcome != 0) return outcome;
  place = claim();
  before = load32(table + KEYED_live);
  changeUs = nowUs;
  isSound = true;
  return place == NONE ? BUSY : 0;
}

/** Writes a limit into the claimed record: the table's own, then the tiers', in order. */
export function putLimit(tier: i32, pace: f64, burst: f64, perToken: f64, fill: f64): void {
  const from = limitIn(recordOf(before), tier);
  const to = limitIn(recordOf(place), tier);
  const version = (before >> INDEX_BITS) + 1;
  forgetLimit();
  if (!readLimit(from)) isSound = false;
  newLimit(pace, burst, perToken, fill);
  if (newCapTicks > TABLE_SPAN_TICKS) isSound = false;
  // The grid of windows stays.
  if (fill == 0) placeOrigin(changeUs, version);
  else keepOrigin();
  carryIndex(changeUs, 0);
  writeLimit(to);
  putI64(to + KEYED_LIMIT_rest, restAfter(readI64(from + KEYED_LIMIT_rest), changeUs));
}

/**
 * Makes the claimed record live, if `seen` is still the live word, and frees its claim: 0, AGAIN or
 * a failure.
 */
export function publishChange(seen: i32): f64 {
  const record = recordOf(place);
  putF64(record + KEYED_RECORD_sinceUs, changeUs);
  put32(record + KEYED_RECORD_before, before & INDEX_MASK);
  const next = ((seen + RECORD_COUNT) & LIVE_VERSION_MASK) | place;
  const isNext = isSound && seen == before;
  const isLive = isNext && isClaimed() && exchange32(table + KEYED_live, seen, next) == seen;
  release(place);
  if (!learnLimit() || !isSound) return DAMAGED;
  return isLive ? sweep() : AGAIN;
}

/** Brings every entry up to the limits in force: 0 or a failure. */
export function sweep(): f64 {
  while (true) {
    if (!learnLimit()) return DAMAGED;
    if (load32(table + KEYED_swept) == known) return 0;
    const word = known;
    let entry = start;
    while (entry <= shared && sweepEntry(entry)) entry += BYTES;
    if (entry <= shared || !isInForce()) continue;
    store32(table + KEYED_swept, word);
    return 0;
  }
}

/** False if the limits have changed. */
function sweepEntry(entry: usize): bool {
  while (true) {
    const state = load64(entry + STATE);
    let next = state;
    if (isLive(state)) {
      if (!isInForce()) return false;
      next = stateBroughtUp(state);
    } else if (tagOf(state) == TRANSIT || tagOf(state) == NAMED) {
      // Its holder may have read the old limits.
      next = freed(state);
    }
    if (next == state || exchange64(entry + STATE, state, next) == state) return true;
  }
}
