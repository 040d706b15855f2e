/**
 * The signals that wake the buyer of a fleet's stock, and the counts, have their own buffer,
 * outside any region. An empty line on either side keeps other data off the lines that threads
 * poll:
 *
 *     line 1 │ buyer i32 │ short i32 │ rings i32 │ beats i32 │ thread i32 │ started i32 │ - │
 *     line 2 │ purchases i64 │ bought i64 │ returned i64 │ failures i64 │ isCutOff i32 │ - │
 */
import { LINE_BYTES } from './lines.ts';

/** Byte offsets in the signals buffer of a fleet's stock. */
export const FLEET_STOCK = {
  buyer: LINE_BYTES,
  short: LINE_BYTES + 4,
  rings: LINE_BYTES + 8,
  beats: LINE_BYTES + 12,
  thread: LINE_BYTES + 16,
  started: LINE_BYTES + 20,
  purchases: 2 * LINE_BYTES,
  bought: 2 * LINE_BYTES + 8,
  returned: 2 * LINE_BYTES + 16,
  failures: 2 * LINE_BYTES + 24,
  isCutOff: 2 * LINE_BYTES + 32,
} as const;
export const FLEET_STOCK_BYTES = 3 * LINE_BYTES;
