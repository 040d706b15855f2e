import { peek64 } from '../accesses';
import { unitsAfter, usOfUnits } from '../arithmetic';
import { FREE, TAG_MASK, TRANSIT } from '../constants';
import {
  capOf,
  count,
  limitIn,
  originOf,
  priceOf,
  recordOf,
  sinceRecord,
  speedOf,
  tickAt,
} from '../limit-set/record';
import { isFrozen } from '../limit-set/schedule';
import { isSlot, limitsOf, slotAt, slotOf, stateAfter, zeroTimeAt } from '../limit-set/slot';

// Replaces keyed/word.ts in the module of limit sets. Its imports are as from there.

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

/** The instant, in units, from which a live bucket is full under every limit of its record. */
export function fullAt(entry: usize, state: i64): i64 {
  const named = slotOf(entry, state);
  if (!isSlot(named)) return i64.MAX_VALUE;
  const slot = slotAt(named);
  if (isFrozen(slot)) return i64.MAX_VALUE;
  const record = recordOf(limitsOf(slot));
  const since = originOf(record);
  let full: f64 = -Infinity;
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
