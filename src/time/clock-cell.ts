import { HandleError } from '../errors.ts';
import { allocateCell, isKind, publishCell } from '../memory/cell.ts';
import { CELL, CLOCK_KIND, REGION_CLOCK, REGION_CLOCK_BYTES } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { namesOf } from '../memory/region-names.ts';
import { shown } from '../options.ts';

/** The memory of a manual clock: byte offsets in a buffer. */
export interface ClockPlace {
  readonly buffer: SharedArrayBuffer;
  readonly now: number;
  readonly moves: number;
  readonly nonce: number;
  /** Its cell, if it is in a region. */
  readonly offset?: number;
  /** In a region of several processes, how often sleepers look at it, in milliseconds. */
  readonly lookMs?: number;
  /** The count of rings in such a region. */
  readonly rings?: Int32Array<SharedArrayBuffer> | undefined;
}

/** The place of a clock in a region. */
export function clockPlaceAt(region: Region, offset: unknown): ClockPlace {
  if (typeof offset !== 'number' || !isKind(region, offset, CLOCK_KIND)) {
    throw new HandleError('ERR_HANDLE_INVALID', "no clock is at the handle's offset");
  }
  const { buffer, lookMs, rings } = region;
  const [now, moves] = [offset + REGION_CLOCK.now, offset + REGION_CLOCK.moves];
  return { buffer, now, moves, nonce: offset + CELL.nonce, lookMs, rings, offset };
}

/** The cell of the clock with a name, which `start` initializes if it is new. */
export function openClockCell(region: Region, name: string, start: (cell: number) => void): number {
  const { cell } = namesOf(region).named(region, name, () => {
    const place = allocateCell(region, REGION_CLOCK_BYTES, false);
    publishCell(place, 'manual-clock');
    start(place.offset);
    return { cell: place.offset, clock: 0 };
  });
  if (isKind(region, cell, CLOCK_KIND)) return cell;
  throw new HandleError('ERR_NAME_MISMATCH', `${shown(name)} is a limiter's name`);
}
