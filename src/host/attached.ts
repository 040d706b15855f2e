import { readSync } from 'node:fs';
import { HandleError } from '../errors.ts';
import { PROCESS_BYTES, PROCESSES_BYTES, REGION } from '../memory/layout.ts';
import { Region } from '../memory/region.ts';
import type { SharedMemory } from '../memory/shared-memory.ts';
import { sharingOf } from '../memory/sharing.ts';
import { FileLocks } from './file-locks.ts';
import { Membership } from './membership.ts';
import { loadLibc } from './native.ts';
import { EXISTING, openFile, type RegionFile } from './region-file.ts';
import { untilThreadEnds } from './threads.ts';

/** The memory of regions that this thread joined by handles, by file. */
const joined = new Map<string, SharedMemory>();

/**
 * Gives this thread its own entry in a region that another thread of the process opened: its
 * holdings then come back when it ends, and it can recover those of others while it blocks. Without
 * an entry it acts as a part of the other thread.
 */
export function join(
  memory: SharedMemory,
  path: string,
  opener: number,
  opened: (identity: string) => SharedMemory | undefined,
): void {
  const region = Region.open(memory);
  let file: RegionFile | undefined;
  try {
    file = openFile(path, EXISTING);
    if (!isFileOf(region, file, opener)) return;
    const known = opened(file.identity) ?? joined.get(file.identity);
    const sharing = known === undefined ? undefined : sharingOf.get(known);
    if (sharing !== undefined) {
      sharingOf.set(memory, sharing);
      return;
    }
    const libc = loadLibc();
    const kept = untilThreadEnds(file);
    if (kept === undefined) return;
    file = kept;
    const locks = new FileLocks(libc, file);
    new Membership(region, locks, locks.claimEntry(), opener);
    joined.set(file.identity, memory);
    file = undefined; // its locks are in use
  } catch (error) {
    if (!(error instanceof HandleError)) throw error;
  } finally {
    file?.close();
  }
}

/** The path may lead to another file by now: compare when the opener's entry was written. */
function isFileOf(region: Region, { descriptor }: RegionFile, opener: number): boolean {
  const processes = region.i32[REGION.processes] ?? 0;
  if (!region.holds(processes, PROCESSES_BYTES)) return false;
  const at = processes + opener * PROCESS_BYTES;
  const entry = new Uint8Array(PROCESS_BYTES);
  readSync(descriptor, entry, 0, PROCESS_BYTES, at);
  const own = new Uint8Array(region.buffer, at, PROCESS_BYTES);
  return own.some((byte) => byte !== 0) && entry.every((byte, i) => byte === own[i]);
}
