import { Bell } from '../../memory/bell.ts';
import type { CellPlace } from '../../memory/cell.ts';
import { BUCKET } from '../../memory/layout.ts';

/** How long a wait may keep the cell's memory alive after the last sleeper has left. */
const LONGEST_WAIT_MS = 1000;

/** Rings when another limit is in force. */
export function changesOf({ region, offset }: CellPlace): Bell {
  return new Bell(region.i32, (offset + BUCKET.sequence) >> 2, LONGEST_WAIT_MS);
}
