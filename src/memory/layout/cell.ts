/**
 * A region is one SharedArrayBuffer: a header of one cache line, then cells on 64-byte boundaries.
 *
 *     region   0 ┌──────────────────────────────────────────────────────────────┐
 *                │ magic u32 │ version u32 │ used u32 │ names u32 │ naming i32  │ header
 *                │ processes u32 │ bytes u32 │ id i32 │ boot 4 x i32 │ timeSpace f64 │
 *                │ fired i32 │ changes u32                                      │
 *             64 ├──────────────────────────────────────────────────────────────┤
 *                │ cell │ cell │ cell ...                           up to used  │
 *                └──────────────────────────────────────────────────────────────┘
 *
 * Every cell starts with the same fields; the rest depends on the kind:
 *
 *     line 0     │ word i64 │ kind i32 │ nonce i32 │ stripes i32 │ kind's own fields │
 *
 * With `stats: true`, a cell of any kind is followed by 65 counter stripes:
 *
 *     stripe     │ calls f64 │ admitted f64 │ refused f64 │ failedExchanges f64 │ longestProbe f64 │
 *                │ owner i32 │ nextStripe i32 │ - │      the last stripe has no owner
 */
import { LINE_BYTES } from './lines.ts';

export const REGION_MAGIC = 0x5a45524f; // 'ZERO'
/** Instead of the magic number, in a file whose region is not complete yet. */
export const REGION_UNFINISHED = 0x7a65726f; // 'zero'
export const REGION_VERSION = 1;
export const REGION_HEADER_BYTES = LINE_BYTES;
/** Int32 indices in the region's header. Only regions in files use `processes` and `bytes`. */
export const REGION = {
  magic: 0,
  version: 1,
  used: 2,
  names: 3,
  naming: 4,
  processes: 5,
  bytes: 6,
  id: 7,
} as const;
/** Byte offsets in the header of a region in a file. */
export const REGION_FILE = { boot: 32, timeSpace: 48, fired: 56, changes: 60 } as const;
export const BOOT_BYTES = 16;

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
 * The name of a limiter or clock. Names form a list, newest first, from the header's `names` on:
 *
 *     line 0..1  │ next u32 │ cell u32 │ clock u32 │ textBytes u32 │ text ...
 *
 * The processes that have a region in a file open have one entry each:
 *
 *     process    │ pid i32 │ - │ openedUs f64 │
 *
 * In place of entry 0 are sums of what ended processes held:
 *
 *     recovered  │ processes i32 │ permits i32 │ tokens f64 │
 *
 * After the entries is the line by which time goes on through a restart of the machine:
 *
 *     time       │ shiftUs f64 │ wallUs f64 │ lastUs f64 │ - │
 */

/** Byte offsets in a name's entry, and its size. */
export const NAME = { next: 0, cell: 4, clock: 8, textBytes: 12, text: 16 } as const;
export const NAME_BYTES = 2 * LINE_BYTES;
export const MAX_NAME_TEXT = NAME_BYTES - NAME.text;

/** Byte offsets in the entry of a process. None has entry 0, which stands for a private region. */
export const PROCESS = { pid: 0, openedUs: 8 } as const;
export const PROCESS_BYTES = 16;
/** Byte offsets in the place of entry 0. */
export const RECOVERED = { processes: 0, permits: 4, tokens: 8 } as const;
export const PROCESS_COUNT = 255;
const ENTRIES_BYTES = (PROCESS_COUNT + 1) * PROCESS_BYTES;
/**
 * Byte offsets from the entries on: what to add to the system's clock to get the region's time; the
 * wall clock less that time, as last noted; and the time at the last note.
 */
export const REGION_TIME = {
  shiftUs: ENTRIES_BYTES,
  wallUs: ENTRIES_BYTES + 8,
  lastUs: ENTRIES_BYTES + 16,
} as const;
/** Size of the entries of all processes, and the line of the region's time. */
export const PROCESSES_BYTES = ENTRIES_BYTES + LINE_BYTES;
