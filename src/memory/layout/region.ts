/**
 * A region is one SharedArrayBuffer: a header of one cache line, then cells on 64-byte boundaries.
 *
 *     region   0 ┌──────────────────────────────────────────────────────────────┐
 *                │ magic u32 │ version u32 │ used u32 │ names u32 │ naming i32  │ header
 *                │ processes u32 │ bytes u32 │ id i32 │ boot 4 x i32 │ timeNamespace f64 │
 *                │ fired i32 │ changes u32                                      │
 *             64 ├──────────────────────────────────────────────────────────────┤
 *                │ cell │ cell │ cell ...                           up to used  │
 *                └──────────────────────────────────────────────────────────────┘
 */
import { LINE_BYTES } from './cell.ts';

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
export const REGION_FILE = { boot: 32, timeNamespace: 48, fired: 56, changes: 60 } as const;
export const BOOT_BYTES = 16;

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

/**
 * The log of the changes that operators made in a region of a file, from the header's `changes`
 * on: 101 entries in any order, of which one may be in the making.
 *
 *     change     │ number i32 │ stage i32 │ begunMs f64 │ endedMs f64 │ pid i32 │ cell u32 │
 *                │ textBytes u32 │ - │ text: JSON in UTF-8 │
 */

const CHANGE_TEXT = 40;
/** Byte offsets in a change. `number` is 0 while it is written. */
export const CHANGE = {
  number: 0,
  stage: 4,
  begunMs: 8,
  endedMs: 16,
  pid: 24,
  cell: 28,
  textBytes: 32,
  text: CHANGE_TEXT,
} as const;
export const CHANGE_BYTES = 8 * LINE_BYTES;
export const MAX_CHANGE_TEXT = CHANGE_BYTES - CHANGE_TEXT;
/** The changes that are kept. One more has room, so that writing one costs none of them. */
export const CHANGES_KEPT = 100;
export const CHANGE_ENTRIES = CHANGES_KEPT + 1;
export const CHANGES_BYTES = CHANGE_ENTRIES * CHANGE_BYTES;
