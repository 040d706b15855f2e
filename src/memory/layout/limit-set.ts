/**
 * The cell of a limit set or a keyed limit set. It starts like a keyed cell, and has one more entry
 * than keys may have: the entry of the set itself, or of the keys without a place. Then follow eight
 * records of the limits, a free list of slots, and the slots: one for each entry, and one for each
 * place of the free list. With C limits, and S the number of bits of a slot's number:
 *
 *     record     │ sinceUs f64 │ - │ the limits, a line each
 *     limit      │ ticksPerToken i64 │ capTicks i64 │ ticksPerMicro f64 │ flow f64 │ burst f64 │ rate f64 │ rest i64 │ - │
 *     place      │ count: 32 bits │ free slot + 1, or 0: 32 bits │
 *     slot       │ holding i64 │ lastUs f64 │ index i64 │ chargedUs f64 │ C zero-times: 8 bytes each │ schedule: 40 bytes │
 *     schedule   │ atUs f64 │ virtualAt f64 │ slope f64 │ upTo i64 │ anchor i32 │ lowered i32 │
 *     holding    │ count: 24 bits │ holder: 8 bits │ has a schedule: 1 bit │ live: 31 bits │
 *     state      │ version: 61 - S bits │ slot: S bits │ tag: 3 bits │
 *     tag        │ 1: live, 2: in transit, 6: named, 4: free │
 */
import { RECORD_COUNT, wholeLines } from './cell.ts';
import { KEYED, KEYED_LIMIT_BYTES, KEYED_RECORD, keyedRecordsAt } from './keyed.ts';

/** The most limits of a set. */
export const MAX_LIMITS = 8;

/** Byte offset of the entry of a limit set without keys, in its cell. */
export const SET_ENTRY_AT = KEYED.table;

/** Byte offsets in a record, and in a limit of it. The flow is the last rate above 0, the rest
 * the zero-time of a key that was never seen: it is full at first, and follows each change. */
export const SET_RECORD = { sinceUs: KEYED_RECORD.sinceUs, limits: KEYED_RECORD.limits } as const;
export const SET_LIMIT = {
  ticksPerToken: 0,
  capTicks: 8,
  ticksPerMicro: 16,
  flow: 24,
  burst: 32,
  rate: 40,
  rest: 48,
} as const;
export const SET_LIMIT_BYTES = KEYED_LIMIT_BYTES;

/** Byte offsets in a slot, and from the end of its zero-times. */
export const SET_SLOT = {
  holding: 0,
  lastUs: 8,
  index: 16,
  chargedUs: 24,
  zeroTimes: 32,
} as const;
export const SCHEDULE = {
  atUs: 0,
  virtualAt: 8,
  slope: 16,
  upTo: 24,
  anchor: 32,
  lowered: 36,
} as const;
const SCHEDULE_BYTES = 40;

/** The places of the free list. Keys need more slots at a time than one set. */
export function freePlaces(entries: number): number {
  return entries === 0 ? 64 : 256;
}
export const PLACE_BYTES = 8;

/** Size of a slot: whole lines in a set without keys, because all threads use the same slots. */
export function setSlotBytes(entries: number, limits: number): number {
  const bytes = SET_SLOT.zeroTimes + limits * 8 + SCHEDULE_BYTES;
  return entries === 0 ? wholeLines(bytes) : bytes;
}

/** The number of slots: one for each entry, and for each place of the free list. */
export function setSlotCount(entries: number): number {
  return entries + 1 + freePlaces(entries);
}

/** Byte offset of the records in the cell. */
export function setRecordsAt(entries: number): number {
  return keyedRecordsAt(entries);
}

/** Byte offset of the free list. */
export function freeListAt(entries: number, limits: number): number {
  return setRecordsAt(entries) + RECORD_COUNT * (SET_RECORD.limits + limits * SET_LIMIT_BYTES);
}

/** Byte offset of the slots. */
export function setSlotsAt(entries: number, limits: number): number {
  return freeListAt(entries, limits) + wholeLines(freePlaces(entries) * PLACE_BYTES);
}

/** Size of the cell without counters. */
export function limitSetBytes(entries: number, limits: number): number {
  const slots = setSlotCount(entries) * setSlotBytes(entries, limits);
  return setSlotsAt(entries, limits) + wholeLines(slots);
}
