import { readSync, writeSync } from 'node:fs';
import { REGION_TIME } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { raiseDouble, storeDouble } from '../memory/shared-double.ts';
import { systemClock } from '../time/system-clock.ts';
import { fail, type RegionFile } from './region-file.ts';

// How the time of a region goes on through a restart of the machine. Limiters store instants of the
// system's clock, which begins anew with each start. Instead of moving each instant, the region has
// one number, the shift: its time is the system's clock plus the shift, 0 until the first restart.
//
// While the region is open, its processes note by how much the wall clock is ahead of its time.
// After a restart, the wall clock less that is the region's time, so the pause counts as it lasted.
// A wall clock that was set back cannot move the time behind the last one noted.
//
// The shift follows from the notes and the clocks, never from the shift before: computed again after
// a process was killed in between, it gives the same time. Nothing notes before it is done.

/** As it was when zerotime was loaded: fake timers of tests replace the global one. */
const { now: wallMs } = Date;
/** The wall clock counts whole milliseconds. A note rounds up and a reading down: time never jumps. */
const WALL_STEP_US = 1000;
/**
 * The longest pause, 366 days. A longer one is that of a wall clock that was set, from 1970 to this
 * year or from a wrong year: some limiters cannot count the time from one to the other.
 */
const MOST_PAUSE_US = 366 * 86_400e6;

/** The wall clock less the region's time. */
function aheadUs(nowUs: number): number {
  return wallMs() * 1000 + WALL_STEP_US - nowUs;
}

/** Notes the time of an open region. */
export function noteTime({ i64, shiftUs }: Region, entries: number): void {
  const nowUs = systemClock.now() + shiftUs;
  storeDouble(i64, (entries + REGION_TIME.wallUs) >> 3, aheadUs(nowUs));
  raiseDouble(i64, (entries + REGION_TIME.lastUs) >> 3, nowUs);
}

/** Begins the time of a new region, whose entries are at an offset of its file. */
export function beginTime({ descriptor }: RegionFile, entries: number): void {
  const nowUs = systemClock.now();
  const notes = new Float64Array([aheadUs(nowUs), nowUs]);
  writeSync(descriptor, notes, 0, notes.byteLength, entries + REGION_TIME.wallUs);
}

/** Lets the time of a region go on after a restart of the machine. */
export function continueTime(file: RegionFile, entries: number): void {
  const notes = new Float64Array(2);
  readSync(file.descriptor, notes, 0, notes.byteLength, entries + REGION_TIME.wallUs);
  const [ahead = Number.NaN, lastUs = Number.NaN] = notes;
  const nowUs = Math.min(Math.max(wallMs() * 1000 - ahead, lastUs), lastUs + MOST_PAUSE_US);
  const shift = new Float64Array([nowUs - systemClock.now()]);
  if (!Number.isFinite(shift[0])) {
    throw fail('ERR_REGION_DAMAGED', file.path, 'has no valid notes of its time');
  }
  writeSync(file.descriptor, shift, 0, shift.byteLength, entries + REGION_TIME.shiftUs);
}
