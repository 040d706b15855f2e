/**
 * The record of the changes that operators made in a region of a file, from the header's `changes`
 * on: 101 entries in any order, of which one may be in the making.
 *
 *     change     │ number i32 │ stage i32 │ begunMs f64 │ endedMs f64 │ pid i32 │ cell u32 │
 *                │ textBytes u32 │ - │ text: JSON in UTF-8 │
 */
import { LINE_BYTES } from './lines.ts';

/** Byte offsets in a change. `number` is 0 while it is written. */
export const CHANGE = {
  number: 0,
  stage: 4,
  begunMs: 8,
  endedMs: 16,
  pid: 24,
  cell: 28,
  textBytes: 32,
  text: 40,
} as const;
export const CHANGE_BYTES = 8 * LINE_BYTES;
export const MAX_CHANGE_TEXT = CHANGE_BYTES - CHANGE.text;
/** The changes that are kept. One more has room, so that writing one costs none of them. */
export const CHANGES_KEPT = 100;
export const CHANGE_PLACES = CHANGES_KEPT + 1;
export const CHANGES_BYTES = CHANGE_PLACES * CHANGE_BYTES;
