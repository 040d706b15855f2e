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
 *     line 0     │ ... │ claims i32 │ sequence i32 │ limits 8 x i32 │
 *     line 1..8  │ generation i32 │ tenure i32 │ pace f64 │ burst f64 │ ticksPerToken f64 │ fillTicks f64 │
 *                │ originUs f64 │ arrived i64 │ arrivedFraction u64 │  one configuration record a line
 *
 *     word       │ zero-time, ticks since the live record's origin: 61 bits │ live record: 3 bits │
 *
 * The cell of a composite bucket has one block for each limit, as large as a bucket's cell, with the
 * limit's records where a bucket has its own. Then come eight digests for each limit, and 64 slots,
 * padded to whole lines:
 *
 *     line 9     │ limitCount i32 │ - │                                      only read
 *     digest     │ ticksPerToken i64 │ ticksPerMicro f64 │ capTicks i64 │ originUs f64 │ burst f64 │
 *                │ sinceUs f64 │ - │
 *     slot       │ state i32 │ - │ mark i64 │ a zero-time for each limit ...
 *
 *     word       │ version: 55 bits │ live slot: 6 bits │ live record: 3 bits │
 *
 * The cell of a window or a log. The ring has 0 (fixed window), `slots` or `maxLimit` entries, and
 * is padded to whole lines:
 *
 *     line 0     │ ... │ claims i32 │ sequence i32 │ slots i32 │ maxLimit i32 │ allowDoubleBurst i32 │
 *     line 1..8  │ generation i32 │ bits i32 │ limit f64 │ intervalMs f64 │ originTicks f64 │
 *                │ firstSlot f64 │ shift f64 │              one configuration record a line
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
 *     word       │ last occasion: 64 - C bits │ calls so far, as far as they matter: C bits │
 *
 * The cell of a keyed bucket or window starts like a bucket's: the bucket shared by keys without a place.
 * The table follows, then eight records of its limits, padded to whole lines, and the tiers' names:
 *
 *     line 9     │ entries i32 │ whenFull i32 │ limitCount i32 │ nameBytes i32 │ seed 4 x i32 │
 *                │ live i32 │ claims i32 │ limitsPerKey i32 │ - │   only `live` and `claims` change
 *     line 10    │ forgotten i64 │ ticketBlocks i64 │ reclaimed i64 │ shared i64 │ - │
 *     line 11+   │ identity i64 │ state i64 │  4 entries a line, 2 for each key of the capacity
 *     record     │ originUs f64 │ originTicks i64 │ ticksPerMicro f64 │ mostTicks i64 │ the limits ...
 *     limit      │ pace f64 │ burst f64 │ ticksPerToken f64 │ fillTicks f64 │
 *
 *     identity   │ fingerprint: 44 bits │ version: 20 bits │
 *     state      │ zero-time in the table's ticks, or a ticket: 61 bits │ tag: 3 bits │
 *     tag        │ the last 2 bits of the version │ 1: live │      or 2: in transit, 6: named, 4: free
 *     live       │ version: 28 bits │ live record: 3 bits │
 *
 * Where each key has several limits, there is one entry more, which keys without a place share, and
 * after the records a rack and slots: one for each entry, and one for each place of the rack. With S
 * the bits of the last slot's number:
 *
 *     rack       │ free slot + 1, or 0: i32 │                        256 places
 *     slot       │ mark i64 │ live i64 │ a zero-time for each limit ...
 *     state      │ version: 61 - S bits │ slot: S bits │ tag: 3 bits │
 *     tag        │ 1: live, 2: in transit, 6: named, 4: free │
 *
 * The cell of a semaphore. A seat holds one permit or one queued caller:
 *
 *     line 0     │ ... │ permits i64 │ seats i32 │ maxPermits i32 │ holdMs f64 │ originUs f64 │
 *     line 1     │ head i32 │ tail i32 │ - │
 *     owner      │ thread i32 │ bell i32 │                          256 of them, from line 2 on
 *     seat       │ seat i64 │ due i64 │
 *     place      │ entry i64 │                        the ring of the queue, an entry for each seat
 *
 *     word       │ generation: 31 bits │ available: 17 bits │ seat: 13 bits │ queued: 1 bit │ change: 2 bits │
 *     permits    │ generation: 31 bits │ permits: 17 bits │ seat: 13 bits │ 0: 3 bits │
 *     seat       │ generation: 31 bits │ n: 17 bits │ owner: 8 bits │ 0: 5 bits │ state: 3 bits │
 *     due        │ generation, low bits: 20 │ due, 1/16 ms since originUs: 44 bits │
 *     entry      │ generation: 31 bits │ ticket, low bits: 20 │ seat: 13 bits │
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
  'keyed-fixed-window': 8,
  semaphore: 9,
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
export const BUCKET = { claims: 24, sequence: 28, limits: 32 } as const;

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

/** The number in the cell of a token bucket with several limits; its handle is a token bucket's. */
export const COMPOSITE_KIND = 10;
/** The most limits of a composite bucket. */
export const MAX_LIMITS = 8;

/** Byte offset in a composite bucket's cell, in the first line of its second limit's block. */
export const COMPOSITE = { limitCount: BUCKET_BYTES } as const;

/** Byte offsets in a digest: what each call needs of a record, computed in advance. */
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
  return Math.ceil((SLOT.zeroTimes + limits * 8) / LINE_BYTES) * LINE_BYTES;
}

/** Size of a composite bucket's cell without counters: 6,272 bytes for two limits. */
export function compositeBytes(limits: number): number {
  const digests = RECORD_COUNT * DIGEST_BYTES;
  return limits * (BUCKET_BYTES + digests) + SLOT_COUNT * slotBytes(limits);
}

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
export const WINDOW_RECORD_BYTES = LINE_BYTES;
/** Byte offsets in a configuration record of a window or a log. */
export const WINDOW_RECORD = {
  generation: 0,
  bits: 4,
  limit: 8,
  intervalMs: 16,
  originTicks: 24,
  firstSlot: 32,
  shift: 40,
} as const;

/** Size of a window's or log's cell without counters: 576 bytes plus whole lines for its ring. */
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
  limitCount: BUCKET_BYTES + 8,
  nameBytes: BUCKET_BYTES + 12,
  seed: BUCKET_BYTES + 16,
  live: BUCKET_BYTES + 32,
  claims: BUCKET_BYTES + 36,
  limitsPerKey: BUCKET_BYTES + 40,
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
/** Byte offsets in one of these limits: the table's own comes first, then one for each tier. */
export const KEYED_LIMIT = { pace: 0, burst: 8, ticksPerToken: 16, fillTicks: 24 } as const;
export const KEYED_LIMIT_BYTES = 32;
/** The most limits of a table: its own, and 15 tiers. */
export const MAX_KEYED_LIMITS = 16;

function wholeLines(bytes: number): number {
  return Math.ceil(bytes / LINE_BYTES) * LINE_BYTES;
}

/** Byte offset of the records of the limits in a keyed cell. */
export function keyedRecordsAt(entries: number): number {
  return KEYED.table + wholeLines(entries * ENTRY_BYTES);
}

/** Size of such a record: 64 bytes for a table without tiers. */
export function keyedRecordBytes(limits: number): number {
  return wholeLines(KEYED_RECORD.limits + limits * KEYED_LIMIT_BYTES);
}

/** Byte offset of the names of the tiers. */
export function keyedNamesAt(entries: number, limits: number): number {
  return keyedRecordsAt(entries) + RECORD_COUNT * keyedRecordBytes(limits);
}

/** Size of a keyed cell without counters: 1,216 bytes plus 16 per entry if there are no tiers. */
export function keyedBytes(entries: number, limits = 1, nameBytes = 0): number {
  return keyedNamesAt(entries, limits) + wholeLines(nameBytes);
}

/** Byte offsets in a slot of a table whose keys have several limits. */
export const KEYED_SLOT = { mark: 0, live: 8, zeroTimes: 16 } as const;

/** Size of such a slot: 32 bytes for two limits. */
export function keyedSlotBytes(limits: number): number {
  return KEYED_SLOT.zeroTimes + limits * 8;
}

/** The places of its rack, where slots lie that no entry needs. */
export const RACK_PLACES = 256;

/** The number of its slots: one for each entry, the shared one, and each place of the rack. */
export function keyedSlotCount(entries: number): number {
  return entries + 1 + RACK_PLACES;
}

/** Byte offset of the rack in the cell of such a table. */
export function keyedRackAt(entries: number, limits: number): number {
  return keyedNamesAt(entries + 1, limits);
}

/** Byte offset of its slots. */
export function keyedSlotsAt(entries: number, limits: number): number {
  return keyedRackAt(entries, limits) + wholeLines(RACK_PLACES * 4);
}

/** Size of its cell without counters. */
export function keyedCompositeBytes(entries: number, limits: number): number {
  const slots = keyedSlotCount(entries) * keyedSlotBytes(limits);
  return keyedSlotsAt(entries, limits) + wholeLines(slots);
}

/** Byte offsets in a semaphore's cell. */
export const SEMAPHORE = {
  permits: 24,
  seats: 32,
  maxPermits: 36,
  holdMs: 40,
  originUs: 48,
  head: CELL_HEADER_BYTES,
  tail: CELL_HEADER_BYTES + 4,
  owners: CELL_HEADER_BYTES + LINE_BYTES,
} as const;
/** The owners that a seat can name. Threads beyond share owner 0. */
export const OWNER_COUNT = 256;
/** Byte offsets in an owner's entry. */
export const OWNER = { thread: 0, bell: 4 } as const;
export const OWNER_BYTES = 8;
/** Byte offset of a semaphore's seats; the ring of its queue follows them. */
export const SEATS_AT = SEMAPHORE.owners + OWNER_COUNT * OWNER_BYTES;
/** Byte offsets in a seat. */
export const SEAT = { seat: 0, due: 8 } as const;
export const SEAT_BYTES = 16;
/** The most seats of a semaphore: a power of two. */
export const MAX_SEATS = 8192;

/** Size of a semaphore's cell without counters: 2,176 bytes plus 24 for each seat. */
export function semaphoreBytes(seats: number): number {
  return SEATS_AT + seats * (SEAT_BYTES + 8);
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
