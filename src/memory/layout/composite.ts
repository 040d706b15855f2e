/**
 * The cell of a composite bucket has one block for each limit, of the size of a bucket's cell, with
 * the limit's records where a bucket has its own. Then follow eight digests for each limit, and 64
 * slots, padded to whole lines:
 *
 *     line 9     │ limitCount i32 │ - │                                      only read
 *     digest     │ ticksPerToken i64 │ ticksPerMicro f64 │ capTicks i64 │ originUs f64 │ burst f64 │
 *                │ sinceUs f64 │ - │
 *     slot       │ state i64 │ mark i64 │ a zero-time for each limit ...
 *
 *     state      │ count: 32 bits │ holder: 32 bits │
 *     word       │ version: 55 bits │ live slot: 6 bits │ live record: 3 bits │
 */
import { BUCKET_BYTES } from './bucket.ts';
import { RECORD_COUNT } from './cell.ts';
import { LINE_BYTES, wholeLines } from './lines.ts';

/** The most limits of a composite bucket. */
export const MAX_LIMITS = 8;

/** Byte offset in a composite bucket's cell, in the first line of its second limit's block. */
export const COMPOSITE = { limitCount: BUCKET_BYTES } as const;

/** Byte offsets in a digest: the values of a record that each call needs, computed in advance. */
export const DIGEST = {
  ticksPerToken: 0,
  ticksPerMicro: 8,
  capTicks: 16,
  originUs: 24,
  burst: 32,
  sinceUs: 40,
} as const;
export const DIGEST_BYTES = LINE_BYTES;

/** The bits of a composite bucket's word, above those of the record, that name the live slot. */
export const SLOT_BITS = 6;
export const SLOT_COUNT = 1 << SLOT_BITS;
export const SLOT_MASK = SLOT_COUNT - 1;
/** Byte offsets in a slot. */
export const SLOT = { state: 0, mark: 8, zeroTimes: 16 } as const;

/** Size of a slot: 64 bytes for up to 6 limits, 128 for more. */
export function slotBytes(limits: number): number {
  return wholeLines(SLOT.zeroTimes + limits * 8);
}

/** Byte offset of the slots in the cell of a composite bucket. */
export function slotsAt(limits: number): number {
  return limits * (BUCKET_BYTES + RECORD_COUNT * DIGEST_BYTES);
}

/** Size of a composite bucket's cell without counters: 6,272 bytes for two limits. */
export function compositeBytes(limits: number): number {
  return slotsAt(limits) + SLOT_COUNT * slotBytes(limits);
}
