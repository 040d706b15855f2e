import { LIVE, TAG_BITS } from '../constants';
import { indexOf } from '../keyed/table';

// The state word of an entry whose key has several limits:
//
//     version │ slot │ tag: 3 bits
//
// The slot holds the zero-times of a live entry. An entry always names a slot, whatever its tag.
// Invariant: the version grows with every change except those of the tag only, so no state recurs.

/** The bits of a slot, and those below the version. */
let slotMask: i64 = 0;
let versionShift: i64 = 0;

export function openStates(slots: i32): void {
  const bits = (32 - clz(slots - 1)) as i64;
  slotMask = ((1 as i64) << bits) - 1;
  versionShift = bits + TAG_BITS;
}

/** The slot of an entry in a state. An unused entry has the slot of its own number. */
export function slotOf(entry: usize, state: i64): i32 {
  return state == 0 ? indexOf(entry) : (((state >> TAG_BITS) & slotMask) as i32);
}

/** The next state after another. */
export function stateAfter(state: i64, slot: i32, tag: i64): i64 {
  const version = (state >> versionShift) + 1;
  return (version << versionShift) | ((slot as i64) << TAG_BITS) | tag;
}

/** The next live state after another, with the zero-times of a slot. */
export function liveAfter(state: i64, slot: i32): i64 {
  return stateAfter(state, slot, LIVE);
}
