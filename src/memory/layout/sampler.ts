/**
 * The cell in which a trace sampler measures the rate of arrivals. Its two words change on lines of
 * their own:
 *
 *     line 0     │ ... │ originUs f64 │ smoothingMs f64 │
 *     line 1     │ refusals i64 │ - │
 *
 *     word       │ instant, 1/256 of the time constant since originUs: 40 bits │ count: 24 bits │
 *     count      │ exponent: 6 bits │ digits, 1/65536 of an arrival: 18 bits │
 *     refusals   │ refused spans: 63 bits │ none was kept since: 1 bit │
 */
import { CELL_HEADER_BYTES, LINE_BYTES } from './cell.ts';

/** Byte offsets in the cell of a sampler's arrivals. */
export const ARRIVALS = { originUs: 24, smoothingMs: 32, refusals: CELL_HEADER_BYTES } as const;
export const ARRIVALS_BYTES = CELL_HEADER_BYTES + LINE_BYTES;

/**
 * The board that shows a remote sampler's strategy to all threads has its own buffer, outside any
 * region. The text of version v is in the first place if v is even, in the second if it is odd:
 *
 *     head     line 1     │ version i32 │ writer i32 │ turn i32 │ asked i32 │ applied i32 │ failures i32 │ - │
 *     place    line 2..   │ length i32 │ checksum i32 │ text: JSON in UTF-8 │                       2 of them
 */

/** Byte offsets in a strategy board: its head, and the first place for a text. */
export const STRATEGY_BOARD = {
  version: LINE_BYTES,
  writer: LINE_BYTES + 4,
  turn: LINE_BYTES + 8,
  asked: LINE_BYTES + 12,
  applied: LINE_BYTES + 16,
  failures: LINE_BYTES + 20,
  places: 2 * LINE_BYTES,
} as const;
/** Byte offsets in a place for a text. */
export const STRATEGY_PLACE = { length: 0, checksum: 4, text: 8 } as const;
