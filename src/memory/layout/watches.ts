/**
 * The list of words that a lookout watches has its own buffer, outside any region. An empty line
 * keeps other data off the line of its head:
 *
 *     head     line 1     │ end i32 │ looks i32 │ used i32 │ added i32 │ - │
 *     watch    line 2..   │ place i32 │ value i32 │            4,096 of them
 */
import { LINE_BYTES } from './lines.ts';

/** Byte offsets in the list of a lookout: its head, and the first watch. */
export const WATCH_LIST = {
  end: LINE_BYTES,
  looks: LINE_BYTES + 4,
  used: LINE_BYTES + 8,
  added: LINE_BYTES + 12,
  watches: 2 * LINE_BYTES,
} as const;
/** Byte offsets in a watch. */
export const WATCH = { place: 0, value: 4 } as const;
export const WATCH_BYTES = 8;
/** The most words that a lookout watches; timers look at the others. */
export const WATCHES = 4096;
export const WATCH_LIST_BYTES = WATCH_LIST.watches + WATCHES * WATCH_BYTES;
