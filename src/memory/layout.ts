/**
 * The layout of shared memory. No other file knows an offset or a size;
 * docs/memory-layout.md is checked against this one.
 *
 * A region is one SharedArrayBuffer: a header of one cache line, then cells on 64-byte boundaries.
 *
 *     region   0 ┌──────────────────────────────────────────────────────────────┐
 *                │ magic u32 │ version u32 │ used u32 │ -                       │ header
 *             64 ├──────────────────────────────────────────────────────────────┤
 *                │ cell │ cell │ cell ...                           up to used  │
 *                └──────────────────────────────────────────────────────────────┘
 *
 * Every cell starts with the same fields; the rest depends on the kind:
 *
 *     line 0     │ word i64 │ kind i32 │ nonce i32 │ stripes i32 │ nextStripe i32 │ kind's own fields │
 *
 * A bucket's cell:
 *
 *     line 0     │ ... │ claims i32 │ sequence i32 │ before 8 x i32 │
 *     line 1..8  │ generation i32 │ tenure i32 │ rate f64 │ burst f64 │ ticksPerToken f64 │ ticksPerMicro f64 │
 *                │ capTicks i64 │ fillTicks f64 │ originUs f64 │      one configuration record a line
 *
 *     word       │ zero-time, ticks since the live record's origin: 61 bits │ live record: 3 bits │
 *
 * The cell of a window or a log. The ring has 0 (fixed window), `slots` or `limit` entries, and is
 * padded to whole lines:
 *
 *     line 1     │ limit f64 │ intervalMs f64 │ slots f64 │ originTicks f64 │
 *     line 2..   │ entry i64 │ entry i64 │ ...                                          the ring
 *
 *     fixed window:    with C = the bits of `limit`
 *     word       │ start of the window: 63 - C bits │ returned: 1 bit │ count: C bits │
 *
 *     sliding window:
 *     word       │ slot number: 63 - C bits │ sealed: 1 bit │ count: C bits │
 *     entry      │ the word as it was sealed, at the slot number modulo `slots`; 0 is none │
 *
 *     sliding log:
 *     word       │ lap, low bits: 32 - C │ index: C bits ║ lap, high bits: 32 - C │ pending: C bits │
 *     entry      │ time of the admission, ticks: 63 bits │ lap of its writing is even: 1 bit │
 *
 * The cell of a `Sometimes`, with C = the bits of `first + every`:
 *
 *     line 1     │ first f64 │ every f64 │ intervalMs f64 │ originTicks f64 │
 *     word       │ last occasion: 64 - C bits │ calls so far, as far as they matter: C bits │
 *
 * A keyed token bucket's cell starts like a bucket's: the bucket shared by keys without a place.
 * Its records hold the limit of every key. The table follows:
 *
 *     line 9     │ entries i32 │ whenFull i32 │ originUs f64 │ seed 4 x i32 │ - │     only read
 *     line 10    │ forgotten i64 │ ticketBlocks i64 │ reclaimed i64 │ shared i64 │ - │
 *     line 11+   │ identity i64 │ state i64 │  4 entries a line, 2 for each key of the capacity
 *
 *     identity   │ fingerprint: 44 bits │ version: 20 bits │
 *     state      │ zero-time, ticks since originUs, or a ticket: 61 bits │ tag: 3 bits │
 *     tag        │ the last 2 bits of the version │ 1: live │      or 2: in transit, 6: named, 4: free
 *
 * With `stats: true`, a cell of any kind is followed by 65 counter stripes:
 *
 *     stripe     │ calls f64 │ admitted f64 │ refused f64 │ lostRaces f64 │ longestProbe f64 │
 *
 * Shared clocks, and the signals that wake the buyer of a fleet's stock, have their own buffers
 * outside any region. An empty line on either side keeps other data off the line that threads poll:
 *
 *     manual clock         0 │ now f64 │ moves i32 │ - │
 *     ticker clock    line 1 │ now f64 │ periodUs f64 │ beats i32 │ - │
 *     fleet's stock   line 1 │ buyer i32 │ short i32 │ rings i32 │ - │
 *
 * The word has line 0 nearly to itself: the rest of the line is written only when the limiter is
 * created, attached with counters, or reconfigured. Records are written before their index is
 * published in the word and only read after that, so they stay in every core's cache. Each counter
 * stripe has one writing thread, so counting never bounces a line between cores.
 */

/** Size of a cache line. Cells are aligned to it, so that two limiters never share a line. */
export const LINE_BYTES = 64;

export const REGION_MAGIC = 0x5a45524f; // 'ZERO'
export const REGION_VERSION = 1;
export const REGION_HEADER_BYTES = LINE_BYTES;
/** Int32 indices in the region's header. */
export const REGION = { magic: 0, version: 1, used: 2 } as const;

/** The kinds of cell. Cells contain the number, handles the name. */
export const CELL_KINDS = {
  'token-bucket': 1,
  'leaky-bucket': 2,
  'fixed-window': 3,
  'sliding-window': 4,
  'sliding-log': 5,
  'keyed-token-bucket': 6,
  sometimes: 7,
} as const;
export type CellKind = keyof typeof CELL_KINDS;

/** Byte offsets in line 0 of every cell. */
export const CELL = { word: 0, kind: 8, nonce: 12, stripes: 16, nextStripe: 20 } as const;
const CELL_HEADER_BYTES = LINE_BYTES;

/** Stripes with one writer each. One more stripe is shared and incremented atomically. */
export const OWN_STRIPES = 64;
export const STRIPE_COUNT = OWN_STRIPES + 1;
export const STRIPE_BYTES = LINE_BYTES;
/** Float64 indices in a counter stripe. */
export const COUNTER = {
  calls: 0,
  admitted: 1,
  refused: 2,
  lostRaces: 3,
  longestProbe: 4,
} as const;

/** Byte offsets in line 0 of a bucket's cell. */
export const BUCKET = { claims: 24, sequence: 28, before: 32 } as const;

/** The word's low bits name the live configuration record. */
export const INDEX_BITS = 3;
export const RECORD_COUNT = 1 << INDEX_BITS;
export const INDEX_MASK = RECORD_COUNT - 1;

const RECORDS_AT = CELL_HEADER_BYTES;
const RECORD_BYTES = LINE_BYTES;
/** Byte offsets in a configuration record. */
export const RECORD = {
  generation: 0,
  tenure: 4,
  rate: 8,
  burst: 16,
  ticksPerToken: 24,
  ticksPerMicro: 32,
  capTicks: 40,
  fillTicks: 48,
  originUs: 56,
} as const;

export function recordOffset(cell: number, index: number): number {
  return cell + RECORDS_AT + index * RECORD_BYTES;
}

/** Size of a bucket's cell without counters: 576 bytes. */
export const BUCKET_BYTES = RECORDS_AT + RECORD_COUNT * RECORD_BYTES;

/** Byte offsets in the cell of a window or a log. */
export const WINDOW = {
  limit: CELL_HEADER_BYTES,
  intervalMs: CELL_HEADER_BYTES + 8,
  slots: CELL_HEADER_BYTES + 16,
  originTicks: CELL_HEADER_BYTES + 24,
  ring: CELL_HEADER_BYTES + LINE_BYTES,
} as const;

/** Size of a window's or log's cell without counters: 128 bytes plus whole lines for its ring. */
export function windowBytes(entries: number): number {
  return WINDOW.ring + Math.ceil((entries * 8) / LINE_BYTES) * LINE_BYTES;
}

/** Byte offsets in the cell of a `Sometimes`. */
export const SOMETIMES = {
  first: CELL_HEADER_BYTES,
  every: CELL_HEADER_BYTES + 8,
  intervalMs: CELL_HEADER_BYTES + 16,
  originTicks: CELL_HEADER_BYTES + 24,
} as const;
export const SOMETIMES_BYTES = CELL_HEADER_BYTES + LINE_BYTES;

/** Byte offsets in a keyed token bucket's cell. */
export const KEYED = {
  entries: BUCKET_BYTES,
  whenFull: BUCKET_BYTES + 4,
  originUs: BUCKET_BYTES + 8,
  seed: BUCKET_BYTES + 16,
  forgotten: BUCKET_BYTES + LINE_BYTES,
  ticketBlocks: BUCKET_BYTES + LINE_BYTES + 8,
  reclaimed: BUCKET_BYTES + LINE_BYTES + 16,
  shared: BUCKET_BYTES + LINE_BYTES + 24,
  table: BUCKET_BYTES + 2 * LINE_BYTES,
} as const;
export const SEED_BYTES = 16;
const ENTRY_BYTES = 16;
/** Int64 indices in an entry, and the distance between entries. */
export const ENTRY = { identity: 0, state: 1, step: ENTRY_BYTES >> 3 } as const;

/** Size of a keyed token bucket's cell without counters: 704 bytes plus 16 per entry. */
export function keyedBytes(entries: number): number {
  return KEYED.table + entries * ENTRY_BYTES;
}

/** Byte offsets in a manual clock's buffer. */
export const MANUAL_CLOCK = { now: 0, moves: 8 } as const;
export const MANUAL_CLOCK_BYTES = 16;

/** Byte offsets in a ticker clock's buffer. */
export const TICKER_CLOCK = {
  now: LINE_BYTES,
  periodUs: LINE_BYTES + 8,
  beats: LINE_BYTES + 16,
} as const;
export const TICKER_CLOCK_BYTES = 3 * LINE_BYTES;

/** Byte offsets in the signals buffer of a fleet's stock. */
export const FLEET_STOCK = {
  buyer: LINE_BYTES,
  short: LINE_BYTES + 4,
  rings: LINE_BYTES + 8,
} as const;
export const FLEET_STOCK_BYTES = 3 * LINE_BYTES;

/** Index of the low Int32 half of a 64-bit word, which depends on the machine's endianness. */
export const LOW_HALF = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;
export const HIGH_HALF = 1 - LOW_HALF;
