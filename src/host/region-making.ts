import { HandleError } from '../errors.ts';
import type { FileLocks } from './file-locks.ts';
import type { Libc } from './libc.ts';
import type { RegionFile, Wanted } from './region-file.ts';
import { checkRegion, makeRegion } from './region-header.ts';

/** The lock held while a region is created; processes have the numbers from 1 on. */
export const MAKING = 0;
const PATIENCE_MS = 10_000;

/** A region's open file, and the means to use it. */
export type Opened = { readonly file: RegionFile; readonly libc: Libc; readonly locks: FileLocks };

/**
 * Returns the size of the region in a file; creates the region first if no process has.
 *
 * @throws HandleError
 */
export function findOrMake(opened: Opened, wanted: Wanted, bytes: number): number {
  // Checked without the lock, so that a stopped process cannot block those that come later.
  return checkRegion(opened.file) ?? underLock(opened, () => make(opened, wanted, bytes));
}

function make({ file, libc }: Opened, { isCreated, mode }: Wanted, bytes: number): number {
  const made = checkRegion(file);
  if (made !== undefined) return made;
  if (!isCreated) throw new HandleError('ERR_REGION_INVALID', `${file.path} holds no region yet`);
  makeRegion(file, libc, bytes, mode);
  return bytes;
}

/** Runs `action` while no other process creates the region. */
function underLock<T>({ file, locks }: Opened, action: () => T): T {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  while (!locks.take(MAKING)) {
    if (performance.now() > giveUpAtMs) {
      const message = 'is being created by a process that stands still';
      throw new HandleError('ERR_HOST_BUSY', `${file.path} ${message}`);
    }
    Atomics.wait(pause, 0, 0, 1);
  }
  try {
    return action();
  } finally {
    locks.release(MAKING);
  }
}
