/**
 * The cell of a keyed bucket or window starts like a bucket's, for the bucket shared by keys
 * without a place. Then follow the table, eight records of its limits, padded to whole lines, and
 * the tiers' names:
 *
 *     line 9     │ entries i32 │ whenFull i32 │ limitCount i32 │ nameBytes i32 │ seed 4 x i32 │
 *                │ live i32 │ limitsPerKey i32 │ claims 8 x u8 │ - │   only `live` and `claims` change
 *     line 10    │ forgotten i64 │ ticketBlocks i64 │ reclaimed i64 │ shared i64 │ - │
 *     line 11+   │ identity i64 │ state i64 │  4 entries a line, 2 for each key of the capacity
 *     record     │ originUs f64 │ originTicks i64 │ ticksPerMicro f64 │ mostTicks i64 │ the limits ...
 *     limit      │ pace f64 │ burst f64 │ ticksPerToken f64 │ fillTicks f64 │
 *
 *     identity   │ fingerprint: 44 bits │ version: 20 bits │
 *     state      │ zero-time in the table's ticks, or a ticket: 61 bits │ tag: 3 bits │
 *     tag        │ the last 2 bits of the version │ 1: live │      or 2: in transit, 6: named, 4: free
 *     live       │ version: 28 bits │ live record: 3 bits │
 */
import { BUCKET_BYTES } from './bucket.ts';
import { RECORD_COUNT } from './cell.ts';
import { LINE_BYTES, wholeLines } from './lines.ts';

/** Byte offsets in a keyed token bucket's cell. */
export const KEYED = {
  entries: BUCKET_BYTES,
  whenFull: BUCKET_BYTES + 4,
  limitCount: BUCKET_BYTES + 8,
  nameBytes: BUCKET_BYTES + 12,
  seed: BUCKET_BYTES + 16,
  live: BUCKET_BYTES + 32,
  limitsPerKey: BUCKET_BYTES + 36,
  claims: BUCKET_BYTES + 40,
  forgotten: BUCKET_BYTES + LINE_BYTES,
  ticketBlocks: BUCKET_BYTES + LINE_BYTES + 8,
  reclaimed: BUCKET_BYTES + LINE_BYTES + 16,
  shared: BUCKET_BYTES + LINE_BYTES + 24,
  table: BUCKET_BYTES + 2 * LINE_BYTES,
} as const;
export const SEED_BYTES = 16;
export const ENTRY_BYTES = 16;
/** Int64 indices in an entry, and the distance between entries. */
export const ENTRY = { identity: 0, state: 1, step: ENTRY_BYTES >> 3 } as const;

/** The bits of a table's `live` that hold its version. */
export const LIVE_VERSION_MASK = 0x7ffffff8;

/** Byte offsets in a record of a table's limits. */
export const KEYED_RECORD = {
  originUs: 0,
  originTicks: 8,
  ticksPerMicro: 16,
  mostTicks: 24,
  limits: 32,
} as const;
/** Byte offsets in a limit of such a record: the table's own limit is first, then each tier's. */
export const KEYED_LIMIT = { pace: 0, burst: 8, ticksPerToken: 16, fillTicks: 24 } as const;
export const KEYED_LIMIT_BYTES = 32;
/** The most limits of a table: its own and 15 tiers. */
export const MAX_KEYED_LIMITS = 16;

/** Byte offset of the records of the limits in a keyed cell. */
export function keyedRecordsAt(entries: number): number {
  return KEYED.table + wholeLines(entries * ENTRY_BYTES);
}

/** Size of such a record: 64 bytes for a table without tiers. */
export function keyedRecordBytes(limits: number): number {
  return wholeLines(KEYED_RECORD.limits + limits * KEYED_LIMIT_BYTES);
}

/** Byte offset of the tiers' names. */
export function keyedNamesAt(entries: number, limits: number): number {
  return keyedRecordsAt(entries) + RECORD_COUNT * keyedRecordBytes(limits);
}

/** Size of a keyed cell without counters: 1,216 bytes plus 16 per entry if there are no tiers. */
export function keyedBytes(entries: number, limits = 1, nameBytes = 0): number {
  return keyedNamesAt(entries, limits) + wholeLines(nameBytes);
}
