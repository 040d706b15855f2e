import { exchange32, load32, store32 } from './accesses';
import { KEPT_PLACES, KEYED_SLOT_zeroTimes, RACK_PLACES, SLOT_ATTEMPTS } from './constants';

// The slots of a table. An entry's state names the slot with the zero-times of its key. A call writes
// those that follow into a spare slot, and then exchanges the state.
//
// Invariant: a slot is named by one entry, lies in one place of the rack, or belongs to one thread,
// which alone writes it. An exchange gives the entry the spare slot, and the thread the one before.

/** A value of `place`: this thread has no spare slot. */
const NOWHERE: i32 = -1;

let rackAt: usize = 0;
let slotsAt: usize = 0;
let slots: i32 = 0;
let slotBytes: usize = 0;

/** The place of the rack from which this thread took its slot, and to which it will return one. */
let place: i32 = NOWHERE;
/** Where to look for a slot first. */
let next: i32 = 0;
export let spare: i32 = 0;
export let spareAt: usize = 0;

/** `total`: how many slots there are, of `limits` limits. */
export function openSlots(rack: usize, first: usize, total: i32, limits: i32): void {
  rackAt = rack;
  slotsAt = first;
  slots = total;
  slotBytes = KEYED_SLOT_zeroTimes + ((limits as usize) << 3);
}

/** Whether there is such a slot: damaged memory may name another. */
export function areSlots(slot: i32): bool {
  return (slot as u32) < (slots as u32);
}

export function slotAt(slot: i32): usize {
  return slotsAt + (slot as usize) * slotBytes;
}

export function zeroTimeAt(slot: usize, limit: i32): usize {
  return slot + KEYED_SLOT_zeroTimes + (limit << 3);
}

function hold(slot: i32): void {
  spare = slot;
  spareAt = slotAt(slot);
}

/** Takes a slot from the rack unless this thread has kept one; false if there is none. */
export function takeSpare(): bool {
  if (place != NOWHERE) return true;
  for (let attempt = 0; attempt < SLOT_ATTEMPTS; attempt++) {
    for (let step = 0; step < RACK_PLACES; step++) {
      const from = (next + step) & (RACK_PLACES - 1);
      const at = rackAt + (from << 2);
      // A place holds the number of a slot plus 1, or 0 while a thread has its slot.
      const held = load32(at);
      if (!areSlots(held - 1) || exchange32(at, held, 0) != held) continue;
      place = from;
      next = from;
      hold(held - 1);
      return true;
    }
  }
  return false;
}

/** After an exchange: the slot that the entry had becomes the spare one. */
export function swapSpare(slot: i32): void {
  hold(slot);
}

/** At the end of a call. Only a slot from a low place is kept, so idle threads hold few of them. */
export function restSpare(): void {
  if (place < KEPT_PLACES) return;
  store32(rackAt + (place << 2), spare + 1);
  place = NOWHERE;
}
