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
 */
import { LINE_BYTES } from './lines.ts';

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
/** Size of the entries of all processes. */
export const PROCESSES_BYTES = (PROCESS_COUNT + 1) * PROCESS_BYTES;
