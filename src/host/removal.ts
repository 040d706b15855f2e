import { readSync, rmSync } from 'node:fs';
import { PROCESS, PROCESS_BYTES, PROCESS_COUNT, REGION } from '../memory/layout.ts';
import { CREATING, ENTRIES, FileLocks } from './file-locks.ts';
import { loadLibc } from './native.ts';
import { EXISTING, fail, isInPlace, openFile, pathOf, type RegionFile } from './region-file.ts';
import { isRegion } from './region-header.ts';

/**
 * Removes the file of a region, even one that cannot be opened, such as a stale or incomplete one.
 *
 * @throws HandleError `ERR_HOST_BUSY` if processes have it open, unless `isForced`;
 * `ERR_REGION_INVALID` if the file holds something else.
 */
export function removeRegion(path: string, { isForced }: { readonly isForced: boolean }): void {
  // Repeats only if another process has just removed the file.
  while (!tryRemoval(pathOf(path), isForced));
}

/** Returns false if the file was removed or replaced meanwhile. */
function tryRemoval(path: string, isForced: boolean): boolean {
  const file = openFile(path, EXISTING);
  try {
    if (!isRegion(file)) throw fail('ERR_REGION_INVALID', path, 'holds no zerotime region');
    if (!isForced) takeAll(file);
    if (!isInPlace(file)) return false;
    rmSync(path);
    return true;
  } finally {
    file.close();
  }
}

/** Takes all locks of a region, so that no process can open it. */
function takeAll(file: RegionFile): void {
  const locks = new FileLocks(loadLibc(), file);
  while (!locks.take(CREATING, PROCESS_COUNT + 1)) {
    if (locks.isTaken(CREATING)) {
      throw fail('ERR_HOST_BUSY', file.path, 'is being created or removed: try again');
    }
    const users = usersOf(locks);
    if (users.length === 0) continue; // they have just ended
    const pids = users.filter((pid) => pid !== 0).join(', ');
    // A process has its entry's lock before and after the entry has its pid.
    if (pids === '') throw fail('ERR_HOST_BUSY', file.path, 'is being opened or closed: try again');
    const message = `is open in process ${pids}: end it first, or use --force`;
    throw fail('ERR_HOST_BUSY', file.path, message);
  }
}

/** The pids of the processes that have a region open, by their locks; 0 where none is written. */
function usersOf(locks: FileLocks): number[] {
  const { file } = locks;
  const taken = ENTRIES.filter((entry) => locks.isTaken(entry));
  const start = readInt(file, 4 * REGION.processes);
  return taken.map((entry) => readInt(file, start + entry * PROCESS_BYTES + PROCESS.pid));
}

/** An integer in a file; 0 beyond its end. */
function readInt({ descriptor }: RegionFile, at: number): number {
  const word = new Int32Array(1);
  if (at >= 0) readSync(descriptor, word, 0, word.byteLength, at);
  return word[0] ?? 0;
}
