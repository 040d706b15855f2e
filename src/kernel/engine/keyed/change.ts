import { exchange32, exchange64, load32, load64, store32 } from '../accesses';
import { claimAfter, isClaimed, NONE, release } from '../claim';
import {
  AGAIN,
  BUSY,
  CLAIM_ATTEMPTS,
  DAMAGED,
  INDEX_MASK,
  KEYED_claims,
  KEYED_live,
  KEYED_swept,
  LIVE_VERSION_MASK,
  RECORD_COUNT,
} from '../constants';
import { beginRecord, bringUpLive, end, freed, learn, writeLimit } from './contents';
import { isInForce, known, recordOf } from './records';
import { BYTES, cell, isHeld, isLive, shared, start, STATE } from './table';

// Changes the limits of a table or a limit set: fills a record that no entry needs, exchanges the
// live word, and then sweeps: brings every entry up to the new record. A call that meets an entry
// before the sweep brings it up itself. A change first completes the sweep of the one before, so
// that an entry counts under the live record or under the one before it.

/** The claimed record. */
let place: i32 = 0;
/** The word that the change is to replace, and whether all went well. */
let before: i32 = 0;
let isSound: bool = true;

/**
 * Claims a record that the live word does not name; NONE if none is free. Every entry has been
 * brought up to the live record, so none needs another one, unless a change came in between.
 */
function claim(): i32 {
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
    const index = claimAfter(load32(cell + KEYED_live), cell + KEYED_claims);
    if (index == NONE) continue;
    const live = load32(cell + KEYED_live);
    if ((live & INDEX_MASK) != index && load32(cell + KEYED_swept) == live) return index;
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
  if (place == NONE) return BUSY;
  before = load32(cell + KEYED_live);
  isSound = true;
  beginRecord(recordOf(place), before, nowUs);
  return 0;
}

/** Writes a limit into the claimed record: that of the record before changes to it. */
export function putLimit(i: i32, pace: f64, burst: f64, perToken: f64, fill: f64): void {
  const isWritten = writeLimit(i, recordOf(before), recordOf(place), pace, burst, perToken, fill);
  if (!isWritten) isSound = false;
}

/**
 * Makes the claimed record live, if `seen` is still the live word, and frees its claim: 0, AGAIN or
 * a failure.
 */
export function publishChange(seen: i32): f64 {
  const next = ((seen + RECORD_COUNT) & LIVE_VERSION_MASK) | place;
  const isNext = isSound && seen == before;
  const isPublished = isNext && isClaimed() && exchange32(cell + KEYED_live, seen, next) == seen;
  release(place);
  if (!isSound) return DAMAGED;
  return isPublished ? sweep() : AGAIN;
}

/** Brings every entry up to the limits in force: 0 or a failure. */
export function sweep(): f64 {
  while (true) {
    if (!learn()) return DAMAGED;
    if (load32(cell + KEYED_swept) == known) return 0;
    const word = known;
    let entry = start;
    let outcome = 0;
    while (outcome == 0 && entry <= shared) {
      outcome = sweepEntry(entry);
      entry += BYTES;
    }
    if (outcome == AGAIN || (outcome == 0 && !isInForce())) continue;
    if (outcome != 0) return end(outcome);
    store32(cell + KEYED_swept, word);
    return end(0);
  }
}

/** 0, AGAIN if the limits have changed, or a failure. */
function sweepEntry(entry: usize): i32 {
  while (true) {
    const state = load64(entry + STATE);
    if (entry == shared || isLive(state)) {
      const outcome = bringUpLive(entry, state);
      if (outcome != AGAIN) return outcome;
      if (!isInForce()) return AGAIN;
    } else if (
      // Its holder may have read the old limits.
      !isHeld(state) ||
      exchange64(entry + STATE, state, freed(state)) == state
    ) {
      return 0;
    }
  }
}
