import { FREE, LIVE, TAG_BITS, TAG_MASK, TRANSIT } from './constants';
import { capOf, count } from './keyed-composite-limits';
import { areSlots, slotAt, zeroTimeAt } from './keyed-composite-slot';
import { indexOf, tagOf } from './keyed-table';
import { peek64 } from './accesses';

// State words of a table whose keys have several limits, in place of keyed-word.ts:
//
//     version │ slot │ tag: 3 bits
//
// The slot holds the zero-times of a live entry. An entry always names a slot, whatever its tag.
// Invariant: the version grows with every change of a state, but for its tag, so no state recurs.

/** The bits of a slot, and those below the version. */
let slotMask: i64 = 0;
let versionShift: i64 = 0;

export function openWords(slots: i32): void {
  const bits = 32 - clz(slots - 1);
  slotMask = (1 << (bits as i64)) - 1;
  versionShift = (bits as i64) + TAG_BITS;
}

/** The slot of an entry in a state. An entry that was never used has the slot of its own number. */
export function slotOf(entry: usize, state: i64): i32 {
  return state == 0 ? indexOf(entry) : (((state >> TAG_BITS) & slotMask) as i32);
}

/** A state that follows another. */
export function stateAfter(state: i64, slot: i32, tag: i64): i64 {
  const version = (state >> versionShift) + 1;
  return (version << versionShift) | ((slot as i64) << TAG_BITS) | tag;
}

/** The live state after another, with the zero-times of a slot. */
export function liveAfter(state: i64, slot: i32): i64 {
  return stateAfter(state, slot, LIVE);
}

export function isUnused(state: i64): bool {
  return state == 0 || tagOf(state) == (FREE as i32);
}

/** The tick at which a live bucket is full for every limit, by those in force. */
export function fullAt(entry: usize, state: i64): i64 {
  const slot = slotOf(entry, state);
  if (!areSlots(slot)) return i64.MAX_VALUE;
  let full = i64.MIN_VALUE;
  for (let i = 0; i < count; i++) {
    full = max(full, peek64(zeroTimeAt(slotAt(slot), i)) + capOf(i));
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
