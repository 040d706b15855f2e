import { rmSync } from 'node:fs';
import { HandleError } from '../errors.ts';
import { PROCESS_COUNT } from '../memory/layout.ts';
import { timers } from '../memory/runtime.ts';
import { FileLocks } from './file-locks.ts';
import type { Libc } from './libc.ts';
import { isInPlace, type RegionFile, type Wanted } from './region-file.ts';
import {
  checkRegion,
  isOfEarlierBoot,
  isUnfinished,
  makeRegion,
  takeOverRegion,
  usedElsewhere,
} from './region-header.ts';

// The locks of a region's file: one to create or remove the region, one for each process that has it
// open, and one to change its limits from outside the program. A process takes its own lock and then looks at the path again; another removes the
// file only while it holds all locks. So no process ends up in a removed file.

/** The lock held while a region is created; processes have the numbers from 1 on. */
export const MAKING = 0;
/** The lock held while an operator changes a limit. */
export const OPERATING = PROCESS_COUNT + 1;
const TIMEOUT_MS = 10_000;

/** A region's open file, and the means to use it. */
export type Opened = { readonly file: RegionFile; readonly libc: Libc; readonly locks: FileLocks };

export function openedBy(libc: Libc, file: RegionFile): Opened {
  return { file, libc, locks: new FileLocks(libc, file) };
}

/**
 * Returns the size of the region in a file; creates the region first if no process has.
 *
 * @throws HandleError
 */
export function findOrMake(opened: Opened, wanted: Wanted, bytes: number): number {
  const { file } = opened;
  if (wanted.isKept && isOfEarlierBoot(file)) underLock(opened, () => takeOver(opened));
  // Checked without the lock, so that a stopped process cannot block those that come later.
  return checkRegion(file) ?? underLock(opened, () => make(opened, wanted, bytes));
}

/** Lets a region go on after a restart of the machine, unless another process has done so. */
function takeOver({ file, locks }: Opened): void {
  if (!isOfEarlierBoot(file)) return;
  // What processes of the earlier start held comes back as from any that have ended.
  if (!locks.take(1, PROCESS_COUNT)) throw usedElsewhere(file);
  try {
    takeOverRegion(file);
  } finally {
    locks.release(1, PROCESS_COUNT);
  }
}

function make({ file, libc }: Opened, { isCreated, mode }: Wanted, bytes: number): number {
  const made = checkRegion(file);
  if (made !== undefined) return made;
  if (!isCreated) throw new HandleError('ERR_REGION_INVALID', `${file.path} holds no region yet`);
  makeRegion(file, libc, bytes, mode);
  return bytes;
}

/** Removes a file that was created in vain, unless another process creates a region in it. */
export function discard({ file, locks }: Opened): void {
  let isFree = true;
  try {
    isFree = locks.take(MAKING);
  } catch {
    // Nobody can use a file that cannot be locked.
  }
  if (isFree && isUnfinished(file) && isInPlace(file)) rmSync(file.path);
}

/**
 * Takes the entry of a process.
 *
 * @throws HandleError `ERR_HOST_BUSY` if no entry is free.
 */
export function claimEntry(opened: Opened): number {
  const claim = () => {
    for (let entry = 1; entry <= PROCESS_COUNT; entry++) {
      if (opened.locks.take(entry)) return entry;
    }
    return undefined;
  };
  // A process that removes the file holds all locks for a moment.
  const entry = claim() ?? underLock(opened, claim);
  if (entry !== undefined) return entry;
  throw new HandleError(
    'ERR_HOST_BUSY',
    `the region is open in ${PROCESS_COUNT} processes and threads, the maximum`,
  );
}

/**
 * Runs `action` while no other process creates or removes the region, or holds the given lock.
 *
 * @throws HandleError `ERR_HOST_BUSY` if another process holds it for 10 seconds.
 */
export function underLock<T>(
  { file, locks }: Pick<Opened, 'file' | 'locks'>,
  action: () => T,
  lock: typeof MAKING | typeof OPERATING = MAKING,
): T {
  const giveUpAtMs = timers.nowMs() + TIMEOUT_MS;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  while (!locks.take(lock)) {
    if (timers.nowMs() > giveUpAtMs) {
      const work = lock === MAKING ? 'created or removed' : 'changed';
      const message = `is being ${work} by a process that stands still`;
      throw new HandleError('ERR_HOST_BUSY', `${file.path} ${message}`);
    }
    Atomics.wait(pause, 0, 0, 1);
  }
  try {
    return action();
  } finally {
    locks.release(lock);
  }
}
