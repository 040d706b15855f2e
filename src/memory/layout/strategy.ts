/**
 * The board that shows a remote sampler's strategy to all threads has its own buffer, outside any
 * region. The text of version v is in the first place if v is even, in the second if it is odd:
 *
 *     head     line 1     │ version i32 │ writer i32 │ turn i32 │ asked i32 │ applied i32 │ failures i32 │ - │
 *     place    line 2..   │ length i32 │ checksum i32 │ text: JSON in UTF-8 │                       2 of them
 */
import { LINE_BYTES } from './lines.ts';

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
