/**
 * The cell of a manual clock:
 *
 *     line 0     │ - │ kind i32 │ nonce i32 │ moves i32 │ - │ now f64 │
 *
 * A ticker clock has its own buffer, outside any region. An empty line on either side keeps other
 * data off the line that threads poll:
 *
 *     line 1     │ now f64 │ periodUs f64 │ beats i32 │ nonce i32 │ - │
 */
import { LINE_BYTES } from './cell.ts';

/** Byte offsets in a manual clock's cell. */
export const MANUAL_CLOCK = { moves: 16, now: 24 } as const;
export const MANUAL_CLOCK_BYTES = LINE_BYTES;

/** Byte offsets in a ticker clock's buffer. */
export const TICKER_CLOCK = {
  now: LINE_BYTES,
  periodUs: LINE_BYTES + 8,
  beats: LINE_BYTES + 16,
  nonce: LINE_BYTES + 20,
} as const;
export const TICKER_CLOCK_BYTES = 3 * LINE_BYTES;

/**
 * The timer board of a process has its own buffer, outside any region. An empty line keeps other
 * data off the line of its head:
 *
 *     head     line 1     │ thread i32 │ running i32 │ threads i32 │ event i32 │ earliest i64 │ used i32 │ - │
 *     timer    line 2..   │ due i64 │ fired i32 │ - │                                  512 of them
 */

/** Size of the head of a timer board and of a poller's list, with the empty line. */
const HEAD_BYTES = 2 * LINE_BYTES;

/** Byte offsets in a timer board: its head, and the first timer. */
export const TIMER_BOARD = {
  thread: LINE_BYTES,
  running: LINE_BYTES + 4,
  threads: LINE_BYTES + 8,
  event: LINE_BYTES + 12,
  earliest: LINE_BYTES + 16,
  used: LINE_BYTES + 24,
  timers: HEAD_BYTES,
} as const;
/** Byte offsets in a timer. */
export const TIMER = { due: 0, fired: 8 } as const;
export const TIMER_BYTES = 16;
/** The most sleeps, of all threads, that can be near their ends at the same time. */
export const TIMERS = 512;
export const TIMER_BOARD_BYTES = HEAD_BYTES + TIMERS * TIMER_BYTES;

/**
 * The list of words that a poller watches has its own buffer, outside any region. An empty line
 * keeps other data off the line of its head:
 *
 *     head     line 1     │ end i32 │ looks i32 │ used i32 │ added i32 │ - │
 *     watch    line 2..   │ index i32 │ value i32 │            4,096 of them
 */

/** Byte offsets in the list of a poller: its head, and the first watch. */
export const WATCH_LIST = {
  end: LINE_BYTES,
  looks: LINE_BYTES + 4,
  used: LINE_BYTES + 8,
  added: LINE_BYTES + 12,
  watches: HEAD_BYTES,
} as const;
/** Byte offsets in a watch. */
export const WATCH = { index: 0, value: 4 } as const;
export const WATCH_BYTES = 8;
/** The most words that a poller watches; timers look at the others. */
export const WATCHES = 4096;
export const WATCH_LIST_BYTES = HEAD_BYTES + WATCHES * WATCH_BYTES;
