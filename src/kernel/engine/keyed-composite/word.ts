import { peek64 } from '../accesses';
import { FREE, TAG_MASK, TRANSIT } from '../constants';
import { capOf, count, priceOf } from '../keyed-composite/limits';
import { areSlots, slotAt, zeroTimeAt } from '../keyed-composite/slot';
import { slotOf, stateAfter } from '../keyed-composite/state';
import { tagOf } from '../keyed/table';

// Replaces keyed/word.ts in the module for keys with several limits, so no file imports it, and its
// imports are as from there.

export function isUnused(state: i64): bool {
  return state == 0 || tagOf(state) == (FREE as i32);
}

/** The tick at which a live bucket is full under every limit in force. */
export function fullAt(entry: usize, state: i64): i64 {
  const slot = slotOf(entry, state);
  if (!areSlots(slot)) return i64.MAX_VALUE;
  let full = i64.MIN_VALUE;
  for (let i = 0; i < count; i++) {
    full = max(full, peek64(zeroTimeAt(slotAt(slot), i)) + capOf(i, priceOf(i)));
  }
  return full;
}

/** The state in which a thread takes an entry. The slot stays with the entry. */
export function heldAfter(entry: usize, state: i64): i64 {
  return stateAfter(state, slotOf(entry, state), TRANSIT);
}

/** The state of an entry that its holder gives up. */
export function freed(state: i64): i64 {
  return (state & ~(TAG_MASK as i64)) | FREE;
}
