/**
 * The cell of a keyed bucket whose keys have several limits has one more entry, shared by keys
 * without a place. After the records follow a rack and slots: one slot for each entry, and one for
 * each place of the rack. With S the number of bits of a slot's number:
 *
 *     rack       │ place i64 │                                        256 of them
 *     slot       │ mark i64 │ holding i64 │ a zero-time for each limit ...
 *     place      │ count: 32 bits │ free slot + 1, or 0: 32 bits │
 *     holding    │ count: 24 bits │ holder: 8 bits │ live: 32 bits │
 *     state      │ version: 61 - S bits │ slot: S bits │ tag: 3 bits │
 *     tag        │ 1: live, 2: in transit, 6: named, 4: free │
 */

import { keyedNamesAt } from './keyed.ts';
import { wholeLines } from './lines.ts';

/** Byte offsets in a slot of a table whose keys have several limits. */
export const KEYED_SLOT = { mark: 0, holding: 8, zeroTimes: 16 } as const;

/** Size of such a slot: 32 bytes for two limits. */
export function keyedSlotBytes(limits: number): number {
  return KEYED_SLOT.zeroTimes + limits * 8;
}

/** The places of the rack, which holds the slots that no entry uses. */
export const RACK_PLACES = 256;
export const PLACE_BYTES = 8;

/** The number of slots: one for each entry, the shared entry, and each place of the rack. */
export function keyedSlotCount(entries: number): number {
  return entries + 1 + RACK_PLACES;
}

/** Byte offset of the rack. */
export function keyedRackAt(entries: number, limits: number): number {
  return keyedNamesAt(entries + 1, limits);
}

/** Byte offset of the slots. */
export function keyedSlotsAt(entries: number, limits: number): number {
  return keyedRackAt(entries, limits) + wholeLines(RACK_PLACES * PLACE_BYTES);
}

/** Size of the cell without counters. */
export function keyedCompositeBytes(entries: number, limits: number): number {
  const slots = keyedSlotCount(entries) * keyedSlotBytes(limits);
  return keyedSlotsAt(entries, limits) + wholeLines(slots);
}
