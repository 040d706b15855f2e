/**
 * The cell of a window or a log. The ring has 0 (fixed window), `slots` or `maxLimit` entries, and
 * is padded to whole lines:
 *
 *     line 0     │ ... │ sequence i32 │ claims i64 │ slots i32 │ maxLimit i32 │ allowDoubleBurst i32 │
 *     line 1..8  │ epoch i32 │ bits i32 │ limit f64 │ intervalMs f64 │ originTicks f64 │
 *                │ firstSlot f64 │ shift f64 │ unitTicks f64 │ intervalUnits f64 │
 *                                                           one configuration record a line
 *     line 9..   │ entry i64 │ entry i64 │ ...                                          the ring
 *
 *     fixed window:    with C = the live record's `bits`
 *     word       │ start of the window: 60 - C bits │ returned: 1 bit │ count: C bits │ record: 3 bits │
 *
 *     sliding window:
 *     word       │ slot number + shift: 60 - C bits │ sealed: 1 bit │ count: C bits │ record: 3 bits │
 *     entry      │ slot number: 60 - C bits │ sealed: 1 bit │ count: C bits │ record: 3 bits │
 *
 *     sliding log:
 *     word       │ lap, low bits: 32 - C │ index: C bits ║ lap, high bits: 29 - C │ pending: C bits │ record: 3 bits │
 *     entry      │ time of the admission, ticks: 63 bits │ lap of its writing is even: 1 bit │
 *
 * The cell of a `Sometimes`, with C = the bits of `first + every`:
 *
 *     line 1     │ first f64 │ every f64 │ intervalMs f64 │ originTicks f64 │
 *     word       │ last due call: 64 - C bits │ calls so far, as far as they matter: C bits │
 */
import { BUCKET, CELL_HEADER_BYTES, LINE_BYTES, RECORD_COUNT, wholeLines } from './cell.ts';

/** Byte offsets in the cell of a window or a log. */
export const WINDOW = {
  claims: BUCKET.claims,
  sequence: BUCKET.sequence,
  slots: 32,
  maxLimit: 36,
  allowDoubleBurst: 40,
  records: CELL_HEADER_BYTES,
  ring: CELL_HEADER_BYTES + RECORD_COUNT * LINE_BYTES,
} as const;
/** Byte offsets in a configuration record of a window or a log, which lie as a bucket's do. */
export const WINDOW_RECORD = {
  epoch: 0,
  bits: 4,
  limit: 8,
  intervalMs: 16,
  originTicks: 24,
  firstSlot: 32,
  shift: 40,
  unitTicks: 48,
  intervalUnits: 56,
} as const;

/** Size of a window's or log's cell without counters: 576 bytes plus whole lines for its ring. */
export function windowBytes(entries: number): number {
  return WINDOW.ring + wholeLines(entries * 8);
}

/** Byte offsets in the cell of a `Sometimes`. */
export const SOMETIMES = {
  first: CELL_HEADER_BYTES,
  every: CELL_HEADER_BYTES + 8,
  intervalMs: CELL_HEADER_BYTES + 16,
  originTicks: CELL_HEADER_BYTES + 24,
} as const;
export const SOMETIMES_BYTES = CELL_HEADER_BYTES + LINE_BYTES;
