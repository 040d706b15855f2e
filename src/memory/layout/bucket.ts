/**
 * A bucket's cell:
 *
 *     line 0     │ ... │ sequence i32 │ claims i64 │ limits 8 x i32 │
 *     line 1..8  │ epoch i32 │ liveEpoch i32 │ pace f64 │ burst f64 │ ticksPerToken f64 │ fillTicks f64 │
 *                │ originUs f64 │ arrived i64 │ arrivedFraction u64 │  one configuration record a line
 *
 *     word       │ zero-time, ticks since the live record's origin: 61 bits │ live record: 3 bits │
 */
import { CELL_HEADER_BYTES, LINE_BYTES, RECORD_COUNT } from './cell.ts';

/** Byte offsets in line 0 of a bucket's cell. */
export const BUCKET = { sequence: 20, claims: 24, limits: 32 } as const;

const RECORDS_AT = CELL_HEADER_BYTES;
const RECORD_BYTES = LINE_BYTES;
/** Byte offsets in a configuration record. */
export const RECORD = {
  epoch: 0,
  liveEpoch: 4,
  pace: 8,
  burst: 16,
  ticksPerToken: 24,
  fillTicks: 32,
  originUs: 40,
  arrived: 48,
  arrivedFraction: 56,
} as const;

export function recordOffset(cell: number, index: number): number {
  return cell + RECORDS_AT + index * RECORD_BYTES;
}

/** Size of a bucket's cell without counters: 576 bytes. */
export const BUCKET_BYTES = RECORDS_AT + RECORD_COUNT * RECORD_BYTES;
