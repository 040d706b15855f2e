import { load64, peek64 } from '../accesses';
import { unitsAfter, usOfUnits } from '../arithmetic';
import { putF64, putI64 } from '../claim';
import {
  AGAIN,
  CROWDED,
  DAMAGED,
  FREE,
  KEYED_RECORD_sinceUs,
  SET_LIMIT_rest,
  TAG_MASK,
  TRANSIT,
} from '../constants';
import { count, limitIn, recordOf, sinceOf } from '../keyed/records';
import { STATE } from '../keyed/table';
import { capOf, fill, flowOf, live, priceOf, restOf, sinceRecord, speedOf, tickAt } from './record';
import { bringUp, carried, forgottenUs, isFrozen } from './schedule';
import { isSlot, limitsOf, slotAt, slotOf, stateAfter, takeSpare, zeroTimeAt } from './slot';

// The contents of the entries of a limit set, which their slots hold; and what a change of the limits
// writes. Replaces keyed/contents.ts in the module of limit sets. Entries name the live record or the
// last one, so no record is written that an entry names.

export { end } from './slot';
export { learn } from './record';

export function isUnused(state: i64): bool {
  return state == 0 || ((state as i32) & (TAG_MASK as i32)) == (FREE as i32);
}

/** The tick of a record at which a limit in a slot is full; false in `isBound` if it always is. */
function fullTick(slot: usize, limit: usize, i: i32): i64 {
  const tick = peek64(zeroTimeAt(slot, i)) + capOf(limit);
  isBound = priceOf(limit) != 0 && (speedOf(limit) != 0 || tick > 0);
  return tick;
}

let isBound: bool = false;

/**
 * The instant, in units, from which a live bucket is full under every limit of its record, and no
 * forgotten promise needs its schedule.
 */
export function fullAt(entry: usize, state: i64): i64 {
  const named = slotOf(entry, state);
  if (!isSlot(named)) return i64.MAX_VALUE;
  const slot = slotAt(named);
  if (isFrozen(slot)) return i64.MAX_VALUE;
  const record = recordOf(limitsOf(slot));
  const since = sinceOf(record);
  let full = forgottenUs(slot);
  for (let i = 0; i < count; i++) {
    const limit = limitIn(record, i);
    const tick = fullTick(slot, limit, i);
    if (isBound) full = max(full, since + (tick as f64) / speedOf(limit));
  }
  if (!(full < Infinity)) return i64.MAX_VALUE;
  const units = unitsAfter(full);
  // The sum may have been rounded down.
  return isFull(slot, record, usOfUnits(units)) ? units : units + 1;
}

/** Whether a call at an instant would find every limit full. */
function isFull(slot: usize, record: usize, us: f64): bool {
  const since = sinceRecord(record, us);
  for (let i = 0; i < count; i++) {
    const limit = limitIn(record, i);
    const tick = fullTick(slot, limit, i);
    if (isBound && tick > tickAt(since, speedOf(limit))) return false;
  }
  return true;
}

/** The state in which a thread takes an entry. The slot stays with the entry. */
export function heldAfter(entry: usize, state: i64): i64 {
  return stateAfter(state, slotOf(entry, state), TRANSIT);
}

/** The state of an entry that its holder gives up. */
export function freed(state: i64): i64 {
  return (state & ~(TAG_MASK as i64)) | FREE;
}

// A change of the limits.

/** The instant of the change. */
let changeUs: f64 = 0;

/** Starts a claimed record, as of an instant, or of that of the live one if that is later. */
// biome-ignore lint/correctness/noUnusedFunctionParameters: a table's records name the one before
export function beginRecord(record: usize, before: i32, nowUs: f64): void {
  changeUs = max(nowUs, sinceOf(live));
  putF64(record + KEYED_RECORD_sinceUs, changeUs);
}

/** Writes a limit that follows one of another record. At rate 0, promises keep its flow. */
export function writeLimit(
  i: i32,
  before: usize,
  record: usize,
  rate: f64,
  burst: f64,
  perToken: f64,
  // biome-ignore lint/correctness/noUnusedFunctionParameters: sets have no windows
  fillTicks: f64,
): bool {
  const from = limitIn(before, i);
  const to = limitIn(record, i);
  fill(to, rate, burst, perToken, rate > 0 ? rate : finite(flowOf(from)));
  putI64(to + SET_LIMIT_rest, -carried(restOf(from), before, changeUs, from, to));
  return true;
}

/** The flow of a paused limit that was unlimited before is 1. */
function finite(flow: f64): f64 {
  return flow < Infinity ? flow : 1;
}

/** Brings a live entry up to the limits in force: 0, AGAIN or a failure. */
export function bringUpLive(entry: usize, state: i64): i32 {
  const slot = slotOf(entry, state);
  if (!isSlot(slot)) return DAMAGED;
  if (!takeSpare()) return CROWDED;
  // Another thread may have the slot by now, and write into it.
  const outcome = bringUp(entry, state, slot, limitsOf(slotAt(slot)));
  return outcome == 0 && load64(entry + STATE) == state ? 0 : AGAIN;
}
