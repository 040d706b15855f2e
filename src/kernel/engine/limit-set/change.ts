import { exchange32, exchange64, load32, load64, store32 } from '../accesses';
import { ticksUp } from '../arithmetic';
import { claimAfter, claimUnseen, isClaimed, NONE, putF64, putI64, release } from '../claim';
import {
  AGAIN,
  BUSY,
  CLAIM_ATTEMPTS,
  CROWDED,
  DAMAGED,
  ENTRY_BYTES,
  INDEX_MASK,
  KEYED_claims,
  KEYED_live,
  KEYED_swept,
  KEYED_table,
  LIVE_VERSION_MASK,
  NAMED,
  RECORD_COUNT,
  SET_LIMIT_burst,
  SET_LIMIT_capTicks,
  SET_LIMIT_flow,
  SET_LIMIT_rate,
  SET_LIMIT_rest,
  SET_LIMIT_ticksPerMicro,
  SET_LIMIT_ticksPerToken,
  SET_RECORD_sinceUs,
  TRANSIT,
} from '../constants';
import { isLive, STATE, tagOf } from '../keyed/table';
import { freed } from '../keyed/word';
import { bringUp, end, shared } from './charge';
import {
  count,
  flowOf,
  isInForce,
  known,
  learn,
  limitIn,
  live,
  originOf,
  pace,
  recordOf,
  restOf,
} from './record';
import { carried } from './schedule';
import { isSlot, takeSpare } from './slot';
import { slotOf, stateAfter } from './state';

// Changes the limits: fills a record that no entry names, exchanges the live word, and then sweeps:
// brings every entry up to the new record. A call that meets an entry before the sweep brings it up
// itself. A change first completes the sweep of the one before, so entries name the live record or
// the last one, and no record is written that an entry names.

let cell: usize = 0;
/** The claimed record. */
let place: i32 = 0;

export function openChanges(table: usize): void {
  cell = table;
}

/** Claims a record that the live word does not name; NONE if none is free. */
function claim(): i32 {
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
    const index = claimAfter(load32(cell + KEYED_live), cell + KEYED_claims);
    if (index == NONE) continue;
    // While an entry is not swept, it names the record before the live one.
    const live = load32(cell + KEYED_live);
    if ((live & INDEX_MASK) != index && load32(cell + KEYED_swept) == live) return index;
    release(index);
    if (sweep() != 0) return NONE;
  }
  return NONE;
}

/** Completes the last change, and claims a record for another: 0 or a failure. */
export function beginChange(): f64 {
  const outcome = sweep();
  if (outcome != 0) return outcome;
  place = claim();
  return place == NONE ? BUSY : 0;
}

/** Writes a limit into the claimed record. At rate 0, promises keep the flow of the live record. */
export function putLimit(i: i32, rate: f64, burst: f64, perToken: f64): void {
  const at = limitIn(recordOf(place), i);
  fill(at, rate, burst, perToken, rate > 0 ? rate : finite(flowOf(limitIn(live, i))));
}

/** The flow of a paused limit that was unlimited before is 1. */
function finite(flow: f64): f64 {
  return flow < Infinity ? flow : 1;
}

/** Writes a limit of a new set, in cleared memory. Its flow at rate 0 is 1. */
export function layLimit(i: i32, nowUs: f64, rate: f64, burst: f64, perToken: f64): void {
  claimUnseen(cell + KEYED_claims);
  const at = limitIn(recordOf(0), i);
  fill(at, rate, burst, perToken, rate > 0 ? rate : 1);
  putI64(at + SET_LIMIT_rest, -ticksUp(burst, perToken));
  putF64(recordOf(0) + SET_RECORD_sinceUs, nowUs);
}

function fill(at: usize, rate: f64, burst: f64, perToken: f64, flow: f64): void {
  putI64(at + SET_LIMIT_ticksPerToken, perToken as i64);
  putI64(at + SET_LIMIT_capTicks, ticksUp(burst, perToken));
  putF64(at + SET_LIMIT_ticksPerMicro, rate > 0 ? pace(perToken as i64, flow) : 0);
  putF64(at + SET_LIMIT_flow, flow);
  putF64(at + SET_LIMIT_burst, burst);
  putF64(at + SET_LIMIT_rate, rate);
}

/**
 * Makes the claimed record live as of an instant, or of that of the live one if that is later, if `seen` is still the live word, and frees its
 * claim: 0, AGAIN or a failure.
 */
export function publishChange(seen: i32, nowUs: f64): f64 {
  const record = recordOf(place);
  const sinceUs = max(nowUs, originOf(live));
  putF64(record + SET_RECORD_sinceUs, sinceUs);
  for (let i = 0; i < count; i++) {
    const from = limitIn(live, i);
    const to = limitIn(record, i);
    putI64(to + SET_LIMIT_rest, -carried(restOf(from), live, sinceUs, from, to));
  }
  const next = ((seen + RECORD_COUNT) & LIVE_VERSION_MASK) | place;
  const isPublished = isClaimed() && exchange32(cell + KEYED_live, seen, next) == seen;
  release(place);
  return isPublished ? sweep() : AGAIN;
}

/** Brings every entry up to the limits in force: 0 or a failure. */
export function sweep(): f64 {
  while (true) {
    if (!learn()) return DAMAGED;
    if (load32(cell + KEYED_swept) == known) return 0;
    const word = known;
    for (let entry = cell + KEYED_table; entry <= shared; entry += ENTRY_BYTES) {
      const outcome = sweepEntry(entry);
      if (outcome == AGAIN) break;
      if (outcome != 0) return end(outcome);
    }
    if (!isInForce()) continue;
    store32(cell + KEYED_swept, word);
    return end(0);
  }
}

/** 0, AGAIN if the limits have changed, or a failure. */
function sweepEntry(entry: usize): f64 {
  while (true) {
    const state = load64(entry + STATE);
    if (entry != shared && !isLive(state)) {
      const isHeld = tagOf(state) == TRANSIT || tagOf(state) == NAMED;
      // Its holder may have read the old limits.
      if (!isHeld || exchange64(entry + STATE, state, freed(state)) == state) return 0;
      continue;
    }
    const slot = slotOf(entry, state);
    if (!isSlot(slot)) return DAMAGED;
    if (!takeSpare()) return CROWDED;
    // Another thread may have the slot by now, and write into it.
    if (bringUp(entry, state, slot) == 0 && load64(entry + STATE) == state) return 0;
    if (!isInForce()) return AGAIN;
  }
}

/**
 * Changes the state of every entry, but none of its contents, so that no exchange succeeds that was
 * prepared before.
 */
export function fence(): void {
  for (let entry = cell + KEYED_table; entry <= shared; entry += ENTRY_BYTES) {
    while (true) {
      const state = load64(entry + STATE);
      const isEntryLive = entry == shared || isLive(state);
      if (!isEntryLive && tagOf(state) != TRANSIT && tagOf(state) != NAMED) break;
      const slot = slotOf(entry, state);
      const next = isEntryLive ? stateAfter(state, slot, 1) : freed(state);
      if (exchange64(entry + STATE, state, next) == state) break;
    }
  }
}
