/**
 * Every cell starts with the same fields; the rest depends on the kind:
 *
 *     line 0     │ word i64 │ kind i32 │ nonce i32 │ stripes i32 │ kind's own fields │
 *
 * With `stats: true`, a cell of any kind is followed by 65 counter stripes:
 *
 *     stripe     │ calls f64 │ admitted f64 │ refused f64 │ failedExchanges f64 │ longestProbe f64 │
 *                │ owner i32 │ nextStripe i32 │ - │      the last stripe has no owner
 */

/** Size of a cache line. Cells are aligned to it, so that two limiters never share one. */
export const LINE_BYTES = 64;
/** Size of a cell's header: its first line. */
export const CELL_HEADER_BYTES = LINE_BYTES;

/** Rounds up to whole cache lines. */
export function wholeLines(bytes: number): number {
  return Math.ceil(bytes / LINE_BYTES) * LINE_BYTES;
}

/** The kinds of cell. Cells contain the number, handles the name. */
export const CELL_KINDS = {
  'token-bucket': 1,
  'leaky-bucket': 2,
  'fixed-window': 3,
  'sliding-window': 4,
  'sliding-log': 5,
  'keyed-token-bucket': 6,
  sometimes: 7,
  'keyed-fixed-window': 8,
  semaphore: 9,
  'limit-set': 10,
  'keyed-limit-set': 14,
} as const;
export type CellKind = keyof typeof CELL_KINDS;
/** The number of the kind of a named clock's cell. */
export const CLOCK_KIND = 11;

/** The number of the kind of a trace sampler's cell of arrivals; handles have no name for it. */
export const ARRIVALS_KIND = 12;

/** The number of the kind of a fleet's stock with a name. */
export const FLEET_KIND = 13;

/** Byte offsets in line 0 of every cell. */
export const CELL = { word: 0, kind: 8, nonce: 12, stripes: 16 } as const;

/** Stripes with one writer each. One more stripe is shared and incremented atomically. */
export const OWN_STRIPES = 64;
export const STRIPE_COUNT = OWN_STRIPES + 1;
export const STRIPE_BYTES = LINE_BYTES;
/** Float64 indices in a counter stripe. */
export const COUNTER = {
  calls: 0,
  admitted: 1,
  refused: 2,
  failedExchanges: 3,
  longestProbe: 4,
} as const;
/**
 * Byte offsets in a counter stripe: the mark of the thread that counts in it, and, in the shared
 * stripe, the index of the stripe that the next thread takes.
 */
export const STRIPE_OWNER = { owner: 40, nextStripe: 44 } as const;

/** The word's low bits name the live configuration record. */
export const INDEX_BITS = 3;
export const RECORD_COUNT = 1 << INDEX_BITS;
export const INDEX_MASK = RECORD_COUNT - 1;

/** Index of the low Int32 half of a 64-bit word, which depends on the machine's endianness. */
export const LOW_HALF = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;
export const HIGH_HALF = 1 - LOW_HALF;

/**
 * A bucket's cell:
 *
 *     line 0     │ ... │ sequence i32 │ claims i64 │ limits 8 x i32 │
 *     line 1..8  │ epoch i32 │ liveEpoch i32 │ pace f64 │ burst f64 │ ticksPerToken f64 │ fillTicks f64 │
 *                │ originUs f64 │ arrived i64 │ arrivedFraction u64 │  one configuration record a line
 *
 *     word       │ zero-time, ticks since the live record's origin: 61 bits │ live record: 3 bits │
 */
/** Byte offsets in line 0 of a bucket's cell. */
export const BUCKET = { sequence: 20, claims: 24, limits: 32 } as const;

/** Byte offsets in a configuration record, which is a line. */
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
  return cell + CELL_HEADER_BYTES + index * LINE_BYTES;
}

/** Size of a bucket's cell without counters: 576 bytes. */
export const BUCKET_BYTES = CELL_HEADER_BYTES + RECORD_COUNT * LINE_BYTES;
