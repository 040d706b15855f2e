/**
 * The cell of a keyed bucket or window: the table, eight records of its limits, and the tiers' names.
 * The last entry of the table is shared by keys without a place:
 *
 *     line 0     │ ... │ sequence i32 │ - │
 *     line 1     │ entries i32 │ whenFull i32 │ limitCount i32 │ nameBytes i32 │ seed 4 x i32 │
 *                │ live i32 │ - │ claims i64 │ swept i32 │ - │
 *     line 2     │ watermark i64 │ ticketBlocks i64 │ reclaimed i64 │ shared i64 │ - │
 *     line 3+    │ identity i64 │ state i64 │  4 entries a line, 2 for each key of the capacity
 *     record     │ sinceUs f64 │ before i32 │ - │ the limits, a line each
 *     limit      │ rest i64 │ pace f64 │ burst f64 │ ticksPerToken f64 │ fillTicks f64 │ originUs f64 │
 *                │ arrived i64 │ arrivedFraction u64 │  as in a bucket's record, except for the first
 *
 *     identity   │ fingerprint: 44 bits │ version: 20 bits │
 *     state      │ zero-time in ticks of its limit: 56 bits │ parity: 1 bit │ tier: 4 bits │ tag: 3 bits │
 *                │ or a ticket: 61 bits │ tag: 3 bits │
 *     tag        │ the last 2 bits of the version │ 1: live │      or 2: in transit, 6: named, 4: free
 *     live       │ version: 28 bits │ live record: 3 bits │
 */
import { CELL_HEADER_BYTES, LINE_BYTES, RECORD_COUNT, wholeLines } from './cell.ts';

/** Byte offsets in a keyed token bucket's cell. */
export const KEYED = {
  entries: CELL_HEADER_BYTES,
  whenFull: CELL_HEADER_BYTES + 4,
  limitCount: CELL_HEADER_BYTES + 8,
  nameBytes: CELL_HEADER_BYTES + 12,
  seed: CELL_HEADER_BYTES + 16,
  live: CELL_HEADER_BYTES + 32,
  claims: CELL_HEADER_BYTES + 40,
  swept: CELL_HEADER_BYTES + 48,
  watermark: CELL_HEADER_BYTES + LINE_BYTES,
  ticketBlocks: CELL_HEADER_BYTES + LINE_BYTES + 8,
  reclaimed: CELL_HEADER_BYTES + LINE_BYTES + 16,
  shared: CELL_HEADER_BYTES + LINE_BYTES + 24,
  table: CELL_HEADER_BYTES + 2 * LINE_BYTES,
} as const;
export const SEED_BYTES = 16;
export const ENTRY_BYTES = 16;
/** Int64 indices in an entry, and the distance between entries. */
export const ENTRY = { identity: 0, state: 1, step: ENTRY_BYTES >> 3 } as const;

/** The bits of a table's `live` that hold its version. */
export const LIVE_VERSION_MASK = 0x7ffffff8;

/** Byte offsets in a record of a table's limits. `before` is the index of the record before it. */
export const KEYED_RECORD = { sinceUs: 0, before: 8, limits: LINE_BYTES } as const;
/**
 * Byte offset in a limit of such a record, which is otherwise like a bucket's record. The table's
 * own limit is first, then each tier's.
 */
export const KEYED_LIMIT = { rest: 0 } as const;
export const KEYED_LIMIT_BYTES = LINE_BYTES;
/** The most limits of a table: its own and 15 tiers. */
export const MAX_KEYED_LIMITS = 16;

/** Byte offset of the records of the limits in a keyed cell. */
export function keyedRecordsAt(entries: number): number {
  return KEYED.table + wholeLines((entries + 1) * ENTRY_BYTES);
}

/** Size of such a record: 128 bytes for a table without tiers. */
export function keyedRecordBytes(limits: number): number {
  return KEYED_RECORD.limits + limits * KEYED_LIMIT_BYTES;
}

/** Byte offset of the tiers' names. */
export function keyedNamesAt(entries: number, limits: number): number {
  return keyedRecordsAt(entries) + RECORD_COUNT * keyedRecordBytes(limits);
}

/** Size of a keyed cell without counters: 1,280 bytes plus 16 per entry if there are no tiers. */
export function keyedBytes(entries: number, limits = 1, nameBytes = 0): number {
  return keyedNamesAt(entries, limits) + wholeLines(nameBytes);
}

/**
 * The cell of a limit set or a keyed limit set. It starts like a keyed cell, and has one more entry
 * than keys may have: the entry of the set itself, or of the keys without a place. Then follow eight
 * records of the limits, a free list of slots, and the slots: one for each entry, and one for each
 * place of the free list. With C limits, and S the number of bits of a slot's number:
 *
 *     record     │ sinceUs f64 │ - │ the limits, a line each
 *     limit      │ ticksPerToken i64 │ capTicks i64 │ ticksPerMicro f64 │ flow f64 │ burst f64 │ rate f64 │ rest i64 │ - │
 *     place      │ count: 32 bits │ free slot + 1, or 0: 32 bits │
 *     slot       │ holding i64 │ lastUs f64 │ index i64 │ chargedUs f64 │ C zero-times: 8 bytes each │ schedule: 48 bytes │
 *     schedule   │ atUs f64 │ virtualAt f64 │ slope f64 │ upTo i64 │ anchor i32 │ lowered i32 │ forgotten f64 │
 *     holding    │ count: 24 bits │ holder: 8 bits │ has a schedule: 1 bit │ live: 31 bits │
 *     state      │ version: 61 - S bits │ slot: S bits │ tag: 3 bits │
 *     tag        │ 1: live, 2: in transit, 6: named, 4: free │
 */
/** The most limits of a set. */
export const MAX_LIMITS = 8;

/**
 * Byte offsets in a limit of a record. The flow is the last rate above 0, the rest the zero-time of a
 * key that was never seen: it is full at first, and follows each change.
 */
export const SET_LIMIT = {
  ticksPerToken: 0,
  capTicks: 8,
  ticksPerMicro: 16,
  flow: 24,
  burst: 32,
  rate: 40,
  rest: 48,
} as const;

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
  forgotten: 40,
} as const;
const SCHEDULE_BYTES = 48;

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

/** Byte offset of the free list. */
export function freeListAt(entries: number, limits: number): number {
  return keyedRecordsAt(entries) + RECORD_COUNT * keyedRecordBytes(limits);
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
