import { HandleError } from '../errors.ts';
import { PROCESS_COUNT } from './layout.ts';
import type { SharedMemory } from './shared-memory.ts';

/** This thread's view of a region that processes share. */
export interface Sharing {
  /** The region's file. */
  readonly path: string;
  /** The number of this thread's entry in the region. */
  readonly process: number;
  /** The entry in handles, for threads without an entry of their own. */
  readonly opener: number;
  /** Whether the process of an entry has ended; false if this thread cannot tell. */
  readonly hasEnded: (process: number) => boolean;
  /** Whether this thread has closed the region; missing if it didn't open it. */
  readonly hasLeft?: () => boolean;
  /** Recovers now and then the holdings of processes that have ended. */
  readonly recoverEnded: () => void;
}

const known = new WeakMap<SharedMemory, Sharing>();
let opener: ((path: string) => SharedMemory) | undefined;
let joiner: ((memory: SharedMemory, path: string, opener: number) => void) | undefined;

/** This thread's regions that processes share, by their memory. */
export const sharingOf = {
  get: (memory: SharedMemory): Sharing | undefined => known.get(memory),

  set(memory: SharedMemory, sharing: Sharing): void {
    known.set(memory, sharing);
  },

  /**
   * Notes a region from a handle. The thread gets its own entry if `zerotime/host` was imported;
   * otherwise the thread that opened the file looks after the region.
   */
  learn(memory: SharedMemory, path: string, process: unknown): void {
    if (known.has(memory)) return;
    const isEntry = Number.isInteger(process) && Number(process) > 0;
    if (!isEntry || Number(process) > PROCESS_COUNT) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle's process must be an entry's number");
    }
    const [hasEnded, recoverEnded] = [() => false, () => undefined];
    const entry = Number(process);
    known.set(memory, { path, process: entry, opener: entry, hasEnded, recoverEnded });
    joiner?.(memory, path, entry);
  },
};

/** Called by `zerotime/host`, which the core does not import. */
export function openSharedWith(
  open: NonNullable<typeof opener>,
  join: NonNullable<typeof joiner>,
): void {
  opener = open;
  joiner = join;
}

/**
 * Opens the file of a region whose handle came from another process.
 *
 * @throws HandleError `ERR_HOST_UNSUPPORTED` unless `zerotime/host` was imported.
 */
export function openShared(path: string): SharedMemory {
  if (opener !== undefined) return opener(path);
  throw new HandleError(
    'ERR_HOST_UNSUPPORTED',
    "the handle's region is a file: import 'zerotime/host' first",
  );
}
