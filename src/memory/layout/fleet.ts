/**
 * The signals that wake the buyer of a fleet's stock, its counts, and its terms. A stock without a name
 * has a buffer of its own for them, outside any region. An empty line on either side keeps other data
 * off the lines that threads poll:
 *
 *     line 1 │ buyer i32 │ short i32 │ event i32 │ beats i32 │ thread i32 │ started i32 │ - │
 *     line 2 │ purchases f64 │ bought f64 │ returned f64 │ failures f64 │ isCutOff i32 │ - │
 *                │ abandoned f64 │ passedOn f64 │ abandonedUntil f64 │
 *     line 3 │ stock f64 │ minStock f64 │ intervalMs f64 │ maxAgeMs f64 │ rate f64 │
 *                │ processes f64 │ - │
 *
 * The cell of a stock with a name has them at the same offsets, and more around them:
 *
 *     line 0 │ - │ kind i32 │ nonce i32 │ stripes i32 │ - │ bucket u32 │ clock u32 │ - │
 *     line 4.. │ a member for each entry of a process:
 *
 *     member     │ buckets i32 │ - │ waiting f64 │ until f64 │
 */
import { LINE_BYTES } from './cell.ts';

/** Byte offsets of the signals, counts and terms of a fleet's stock. */
export const FLEET_STOCK = {
  buyer: LINE_BYTES,
  short: LINE_BYTES + 4,
  event: LINE_BYTES + 8,
  beats: LINE_BYTES + 12,
  thread: LINE_BYTES + 16,
  started: LINE_BYTES + 20,
  purchases: 2 * LINE_BYTES,
  bought: 2 * LINE_BYTES + 8,
  returned: 2 * LINE_BYTES + 16,
  failures: 2 * LINE_BYTES + 24,
  isCutOff: 2 * LINE_BYTES + 32,
  abandoned: 2 * LINE_BYTES + 40,
  passedOn: 2 * LINE_BYTES + 48,
  abandonedUntil: 2 * LINE_BYTES + 56,
  stock: 3 * LINE_BYTES,
  minStock: 3 * LINE_BYTES + 8,
  intervalMs: 3 * LINE_BYTES + 16,
  maxAgeMs: 3 * LINE_BYTES + 24,
  rate: 3 * LINE_BYTES + 32,
  processes: 3 * LINE_BYTES + 40,
} as const;
export const FLEET_STOCK_BYTES = 4 * LINE_BYTES;

/** States without a buyer, in the low bits of `buyer`. */
export const LEADER_CLOSED = 2;
export const LEADER_VACANT = 3;
/** Above the state lies the entry of the buyer's process, then the number of the epoch. */
export const LEADER_STATE_BITS = 2;
export const LEADER_ENTRY_BITS = 8;

/** Byte offsets in the cell of a stock with a name, beside those of every stock. */
export const FLEET_CELL = {
  stripes: 16,
  bucket: 24,
  clock: 28,
  members: FLEET_STOCK_BYTES,
} as const;
/** Byte offsets in a member: what the process of an entry has in the stock. */
export const FLEET_MEMBER = { buckets: 0, waiting: 8, until: 16 } as const;
export const FLEET_MEMBER_BYTES = 24;
/** One member for each entry of a process. */
export const FLEET_MEMBERS = 256;
export const FLEET_CELL_BYTES = FLEET_STOCK_BYTES + FLEET_MEMBERS * FLEET_MEMBER_BYTES;
