/**
 * The alarm board of a process has its own buffer, outside any region. An empty line keeps other
 * data off the line of its head:
 *
 *     head     line 1     │ thread i32 │ running i32 │ threads i32 │ bell i32 │ earliest i64 │ used i32 │ - │
 *     alarm    line 2..   │ due i64 │ rings i32 │ - │                                  512 of them
 */
import { LINE_BYTES } from './lines.ts';

/** Byte offsets in an alarm board: its head, and the first alarm. */
export const ALARM_BOARD = {
  thread: LINE_BYTES,
  running: LINE_BYTES + 4,
  threads: LINE_BYTES + 8,
  bell: LINE_BYTES + 12,
  earliest: LINE_BYTES + 16,
  used: LINE_BYTES + 24,
  alarms: 2 * LINE_BYTES,
} as const;
/** Byte offsets in an alarm. */
export const ALARM = { due: 0, rings: 8 } as const;
export const ALARM_BYTES = 16;
/** The most sleeps, of all threads, that can be near their ends at the same time. */
export const ALARMS = 512;
export const ALARM_BOARD_BYTES = ALARM_BOARD.alarms + ALARMS * ALARM_BYTES;
