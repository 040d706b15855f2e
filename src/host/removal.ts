import { closeSync, readSync, rmSync } from 'node:fs';
import { HandleError } from '../errors.ts';
import { PROCESS, PROCESS_BYTES, PROCESS_COUNT, REGION } from '../memory/layout.ts';
import { FileLocks } from './file-locks.ts';
import { DEFAULT_MODE } from './host-options.ts';
import { loadLibc } from './native.ts';
import { openFile, pathOf, type RegionFile } from './region-file.ts';
import { isRegion } from './region-header.ts';
import { MAKING } from './region-making.ts';

/**
 * Removes the file of a region, even one that cannot be opened, such as a stale or incomplete one.
 *
 * @throws HandleError `ERR_HOST_BUSY` if processes have it open, unless `isForced`;
 * `ERR_REGION_INVALID` if the file holds something else.
 */
export function removeRegion(path: string, { isForced }: { readonly isForced: boolean }): void {
  const file = openFile(pathOf(path), { owner: undefined, mode: DEFAULT_MODE, isCreated: false });
  try {
    if (!isRegion(file)) {
      throw new HandleError('ERR_REGION_INVALID', `${file.path} holds no zerotime region`);
    }
    const users = isForced ? [] : usersOf(file);
    if (users.length > 0) {
      throw new HandleError(
        'ERR_HOST_BUSY',
        `${file.path} is open in process ${users.join(', ')}: end it first, or use --force`,
      );
    }
    rmSync(file.path);
  } finally {
    closeSync(file.descriptor);
  }
}

/** The pids of the processes that have a region open, by their locks; 0 if one is creating it. */
function usersOf(file: RegionFile): number[] {
  const locks = new FileLocks(loadLibc(), file);
  const entries = Array.from({ length: PROCESS_COUNT + 1 }, (_, entry) => entry);
  const taken = entries.filter((entry) => locks.isTaken(entry));
  const start = readInt(file, 4 * REGION.processes);
  return taken.map((entry) =>
    entry === MAKING ? 0 : readInt(file, start + entry * PROCESS_BYTES + PROCESS.pid),
  );
}

/** An integer in a file; 0 beyond its end. */
function readInt({ descriptor }: RegionFile, at: number): number {
  const word = new Int32Array(1);
  if (at >= 0) readSync(descriptor, word, 0, word.byteLength, at);
  return word[0] ?? 0;
}
