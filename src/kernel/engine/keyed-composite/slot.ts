import { exchange64, peek64, writeI64 } from '../accesses';
import {
  KEPT_PLACES,
  KEYED_SLOT_holding,
  KEYED_SLOT_zeroTimes,
  RACK_PLACES,
  RACK_ATTEMPTS,
} from '../constants';
import { holder } from '../holder';

// The slots of a table. An entry's state names the slot with its key's zero-times. A call writes
// the new ones into a spare slot, and then exchanges the state.
//
// Invariant: a slot is named by one entry, is in one place of the rack, or belongs to one thread,
// which alone writes it. An exchange gives the spare slot to the entry, and the entry's previous
// slot to the thread.
//
// The previous slot still names its earlier holder. The thread has the slot once it has exchanged
// the holding for its own, unless that names its own process already: recovery takes unnamed slots
// from ended processes by the same exchange. A holding counts the holders, so none recurs.

/** A value of `place`: this thread has no spare slot. */
const NOWHERE: i32 = -1;

const HOLDER_SHIFT: i64 = 32;
const HOLDER_MASK: i64 = 0xff;
const COUNT_SHIFT: i64 = 40;
/** The low half: the limits of its zero-times, or the number of a slot in the rack plus 1. */
const LOW_MASK: i64 = 0xffffffff;

let rackAt: usize = 0;
let slotsAt: usize = 0;
let slots: i32 = 0;
let slotBytes: usize = 0;

/** The place of the rack from which this thread took its slot, and to which it will return one. */
let place: i32 = NOWHERE;
/** Where to look first for a slot. */
let next: i32 = 0;
export let spare: i32 = 0;
export let spareAt: usize = 0;
let spareHolding: i64 = 0;

/** `total`: the number of slots, for `limits` limits each. */
export function openSlots(rack: usize, first: usize, total: i32, limits: i32): void {
  rackAt = rack;
  slotsAt = first;
  slots = total;
  slotBytes = KEYED_SLOT_zeroTimes + ((limits as usize) << 3);
}

/** Whether a slot exists, because damaged memory may name another. */
export function areSlots(slot: i32): bool {
  return (slot as u32) < (slots as u32);
}

export function slotAt(slot: i32): usize {
  return slotsAt + (slot as usize) * slotBytes;
}

export function zeroTimeAt(slot: usize, limit: i32): usize {
  return slot + KEYED_SLOT_zeroTimes + (limit << 3);
}

/**
 * The holder of a slot. It does not change before an exchange takes the slot from its entry or
 * place.
 */
export function holdingOf(slot: i32): i64 {
  return peek64(slotAt(slot) + KEYED_SLOT_holding);
}

function heldAfter(holding: i64): i64 {
  const count = (holding >> COUNT_SHIFT) + 1;
  return (count << COUNT_SHIFT) | ((holder as i64) << HOLDER_SHIFT) | (holding & LOW_MASK);
}

/** Makes a slot just taken the spare one, unless recovery was faster. */
function hold(slot: i32, holding: i64): bool {
  const at = slotAt(slot);
  const isOwn = ((holding >> HOLDER_SHIFT) & HOLDER_MASK) == (holder as i64);
  const held = isOwn ? holding : heldAfter(holding);
  if (!isOwn && exchange64(at + KEYED_SLOT_holding, holding, held) != holding) return false;
  spare = slot;
  spareAt = at;
  spareHolding = held;
  return true;
}

/** The next value of a place, with a slot or without. It counts changes, so that none recurs. */
function placeAfter(before: i64, slot: i32): i64 {
  return ((before & ~LOW_MASK) + (LOW_MASK + 1)) | ((slot + 1) as i64);
}

/** Takes a slot from the rack, unless this thread has kept one; false if there is none. */
export function takeSpare(): bool {
  if (place != NOWHERE && holdingOf(spare) == spareHolding) return true;
  for (let attempt = 0; attempt < RACK_ATTEMPTS; attempt++) {
    for (let step = 0; step < RACK_PLACES; step++) {
      const from = (next + step) & (RACK_PLACES - 1);
      const at = rackAt + (from << 3);
      const filled = peek64(at);
      const slot = (filled as i32) - 1;
      if (!areSlots(slot)) continue;
      const holding = holdingOf(slot);
      if (exchange64(at, filled, placeAfter(filled, NOWHERE)) != filled) continue;
      if (!hold(slot, holding)) continue;
      place = from;
      next = from;
      return true;
    }
  }
  return false;
}

/** After an exchange, makes the entry's previous slot, with its holding, the spare one. */
export function swapSpare(slot: i32, holding: i64): void {
  if (!hold(slot, holding)) place = NOWHERE;
}

/** Writes into the spare slot the limits of its zero-times. */
export function signSpare(limits: i32): void {
  spareHolding = (spareHolding & ~LOW_MASK) | ((limits as i64) & LOW_MASK);
  writeI64(spareAt + KEYED_SLOT_holding, spareHolding);
}

/**
 * At the end of a call, keeps only a slot from a low place, so that idle threads hold few slots.
 */
export function restSpare(): void {
  if (place < KEPT_PLACES) return;
  for (let step = 0; step < RACK_PLACES * RACK_ATTEMPTS; step++) {
    // Recovery may have filled its own place. While this thread has a slot, some place is empty.
    const at = rackAt + (((place + step) & (RACK_PLACES - 1)) << 3);
    const empty = peek64(at);
    if ((empty as i32) != 0) continue;
    if (exchange64(at, empty, placeAfter(empty, spare)) == empty) break;
  }
  place = NOWHERE;
}
