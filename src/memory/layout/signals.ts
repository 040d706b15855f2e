/**
 * Shared clocks have their own buffers, outside any region. An empty line on either side keeps
 * other data off the line that threads poll:
 *
 *     manual clock         0 │ now f64 │ moves i32 │ nonce i32 │
 *     ticker clock    line 1 │ now f64 │ periodUs f64 │ beats i32 │ nonce i32 │ - │
 *
 * A manual clock in a region:
 *
 *     line 0     │ - │ kind i32 │ nonce i32 │ moves i32 │ - │ now f64 │
 */
import { LINE_BYTES } from './lines.ts';

/** Byte offsets in a manual clock's buffer. */
export const MANUAL_CLOCK = { now: 0, moves: 8, nonce: 12 } as const;
export const MANUAL_CLOCK_BYTES = 16;
/** Byte offsets in the cell of a manual clock in a region. */
export const REGION_CLOCK = { moves: 16, now: 24 } as const;
export const REGION_CLOCK_BYTES = LINE_BYTES;

/** Byte offsets in a ticker clock's buffer. */
export const TICKER_CLOCK = {
  now: LINE_BYTES,
  periodUs: LINE_BYTES + 8,
  beats: LINE_BYTES + 16,
  nonce: LINE_BYTES + 20,
} as const;
export const TICKER_CLOCK_BYTES = 3 * LINE_BYTES;
