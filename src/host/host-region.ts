import { readSync } from 'node:fs';
import { HandleError } from '../errors.ts';
import { Region } from '../limiters/region.ts';
import { PROCESS_BYTES, PROCESSES_BYTES } from '../memory/layout.ts';
import { Region as AnyRegion, type Named } from '../memory/region.ts';
import {
  allocatePages,
  PAGE_BYTES,
  type SharedMemory,
  type WasmMemory,
} from '../memory/shared-memory.ts';
import { openSharedWith, sharingOf } from '../memory/sharing.ts';
import { checkMade } from '../options.ts';
import { FileLocks, OPERATING } from './file-locks.ts';
import { checkHostOptions, DEFAULT_MODE, type HostRegionOptions } from './host-options.ts';
import type { BindingName, Libc } from './libc.ts';
import { type HostLimiter, HostLimiters } from './limiters.ts';
import { type HostProcess, type HostRecovery, Membership } from './membership.ts';
import { loadLibc } from './native.ts';
import { unsupported } from './platform.ts';
import { PollerThread, pollWith } from './poller.ts';
import {
  EXISTING,
  fail,
  isInPlace,
  MOST_TRIES,
  openFile,
  pathOf,
  type RegionFile,
  type Wanted,
} from './region-file.ts';
import { discard, findOrCreate } from './region-header.ts';
import { untilThreadEnds } from './threads.ts';

/** This thread's open regions, by file. */
const open = new Map<string, HostRegion>();

/**
 * A region in a file that processes of one machine share. Its limiters keep one exact limit over
 * all processes, at the cost of a call within one process. Requires 64-bit Linux, and `node:ffi` or
 * the package koffi. On macOS it requires koffi and is untested.
 *
 * Open limiters in it by name. What a process holds comes back within a second after the process
 * has ended in any way.
 *
 * @example
 * ```ts
 * import { HostRegion } from 'zerotime/host';
 *
 * const region = HostRegion.open({ path: 'my-service' }); // /dev/shm/my-service
 * const bucket = TokenBucket.open(region, 'api', { rate: 100, burst: 10 });
 * bucket.tryConsume(); // one limit for every process that runs this
 * ```
 */
export class HostRegion extends Region {
  /** The region's file. */
  readonly path: string;
  /** The library that calls the system's functions. */
  readonly binding: BindingName;
  readonly #locks: FileLocks;
  readonly #membership: Membership;
  readonly #limiters = new HostLimiters();

  private constructor(memory: WasmMemory, locks: FileLocks, entry: number) {
    const { buffer } = checkMade(new.target, memory, 'buffer', 'HostRegion.open({ path })');
    super(memory, buffer as SharedArrayBuffer); // just allocated
    this.#locks = locks;
    this.path = locks.file.path;
    this.binding = locks.libc.name;
    this.#membership = new Membership(this, locks, entry);
  }

  /**
   * Opens the region in a file, or creates both. Any number of processes can do so at the same
   * time: one of them creates it. A thread that opens a region twice gets the same object.
   *
   * @throws HandleError `ERR_HOST_UNSUPPORTED`, `ERR_HOST_DENIED`, `ERR_HOST_FULL`, `ERR_HOST_STALE`,
   * `ERR_HOST_BUSY`, `ERR_REGION_INVALID` if the file holds something else, was cut, or has
   * another size or version, or `ERR_REGION_DAMAGED` if other code wrote to it.
   * @throws RateLimitError `ERR_PEER_VERSION` if koffi is too old.
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  static override open(options: HostRegionOptions): HostRegion {
    const { path, bytes, mode, owner, binding, afterReboot } = checkHostOptions(options);
    const isKept = afterReboot === 'keep';
    const whole = bytes === undefined ? undefined : Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
    const wanted = { owner, mode, isCreated: true, isKept, bytes: whole };
    return HostRegion.#open(path, wanted, binding);
  }

  /**
   * Opens the region of an existing file. Never creates one.
   *
   * @throws HandleError as {@link open} does; `ERR_REGION_INVALID` if there is no file.
   * @throws RangeError, TypeError for an invalid `path` or `owner`, naming it.
   */
  static find(path: string, owner?: number): HostRegion {
    checkHostOptions(owner === undefined ? { path } : { path, owner });
    return HostRegion.#open(path, { ...EXISTING, owner, mode: DEFAULT_MODE });
  }

  /** @throws TypeError always: use {@link open}. */
  static override create(): never {
    throw new TypeError('HostRegion.create does not exist: use HostRegion.open or Region.create');
  }

  static #open(path: string, wanted: Wanted, binding?: BindingName): HostRegion {
    const libc = loadLibc(binding);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const region = HostRegion.#tryOpen(libc, pathOf(path), wanted);
      if (region !== undefined) return region;
    }
    throw fail('ERR_REGION_INVALID', pathOf(path), 'is replaced each time it is opened');
  }

  /** Returns undefined if the file was removed or replaced meanwhile. */
  static #tryOpen(libc: Libc, path: string, wanted: Wanted): HostRegion | undefined {
    let file = openFile(path, wanted);
    let region: HostRegion | undefined;
    try {
      const known = open.get(file.identity);
      if (known !== undefined) {
        checkSize(file, known.buffer.byteLength, wanted);
        return known;
      }
      const kept = untilThreadEnds(file);
      if (kept === undefined) return undefined;
      file = kept;
      region = HostRegion.#enter(new FileLocks(libc, file), wanted);
      return region;
    } catch (error) {
      if (file.isNew) discard(new FileLocks(libc, file));
      throw error;
    } finally {
      if (region === undefined) file.close();
    }
  }

  static #enter(locks: FileLocks, wanted: Wanted): HostRegion | undefined {
    const { file } = locks;
    const bytes = findOrCreate(locks, wanted);
    checkSize(file, bytes, wanted);
    const entry = locks.claimEntry();
    // Without this entry's lock, another process cannot remove the file, unless it uses force.
    if (!isInPlace(file)) return undefined;
    const region = new HostRegion(map(locks, bytes, wanted), locks, entry).held();
    open.set(file.identity, region);
    return region;
  }

  /**
   * The processes that have the region open. A thread that opened it itself, or attached with
   * `zerotime/host` imported, has its own entry.
   *
   * @throws HandleError `ERR_REGION_INVALID` after {@link close}.
   */
  processes(): readonly HostProcess[] {
    return this.#membership.list();
  }

  /**
   * What came back from processes that ended without closing the region, since its creation. The
   * counts survive those processes, and cover what any process recovered.
   */
  recovered(): HostRecovery {
    return this.#membership.recovered;
  }

  /**
   * The named limiters, and the stocks of fleet buckets, in order of creation. The first call
   * attaches this thread to each. One whose memory is damaged is listed too: its methods throw a
   * HandleError, apart from `toString` and `toJSON`.
   */
  limiters(): readonly HostLimiter[] {
    return this.#limiters.list(this);
  }

  /**
   * The limiter with a name, which this thread attaches to once; undefined if it is a clock's.
   *
   * @internal
   */
  limiterOf(named: Named): HostLimiter | undefined {
    return this.#limiters.find(this, named);
  }

  /**
   * Runs `action` while no other operator changes a limit in the region.
   *
   * @throws HandleError `ERR_HOST_BUSY` if another one holds the lock for 10 seconds;
   * `ERR_REGION_INVALID` after {@link close}.
   * @internal
   */
  operate<T>(action: () => T): T {
    this.#membership.checkOpen();
    return this.#locks.hold(action, OPERATING);
  }

  /** Whether another process is changing a limit. @internal */
  get isOperated(): boolean {
    this.#membership.checkOpen();
    return this.#locks.isTaken(OPERATING);
  }

  /**
   * Releases what this thread holds in the region, such as permits, and its entry, with what threads
   * without an entry hold. Call it when you no longer use any limiter in the region. Not needed
   * before the process ends.
   *
   * Waits for permits reject with `ERR_REGION_INVALID`, and releasing a permit afterwards does
   * nothing. Waits for tokens go on.
   *
   * A `FleetBucket` or `FleetSpender` that this thread has opened in the region gets no more tokens,
   * and its waits reject with `ERR_FLEET_CLOSED`; another process takes over the buying. Close fleet
   * buckets first: the last one returns the unspent tokens.
   */
  close(): void {
    const { file } = this.#locks;
    if (open.get(file.identity) !== this) return;
    open.delete(file.identity);
    try {
      this.#membership.leave();
    } finally {
      file.close();
    }
  }

  /** {@link close}, for `using`. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    this.close();
  }
}

function checkSize({ path }: RegionFile, found: number, { bytes = found }: Wanted): void {
  if (bytes !== found) throw fail('ERR_REGION_INVALID', path, `has ${found} bytes, not ${bytes}`);
}

/**
 * Maps the file over the pages of a WebAssembly memory. A mapping keeps its open file and the locks
 * of that alive, so it gets an open file without locks.
 */
function map({ file, libc }: FileLocks, bytes: number, wanted: Wanted): WasmMemory {
  const memory = allocatePages(bytes);
  if (memory === undefined) {
    throw unsupported('zerotime/host needs WebAssembly and address space for its memory');
  }
  const buffer = memory.buffer as SharedArrayBuffer; // allocated as shared
  const unlocked = openFile(file.path, { ...wanted, isCreated: false });
  try {
    if (unlocked.identity !== file.identity) {
      throw fail('ERR_REGION_INVALID', file.path, 'was replaced by force while it was opened');
    }
    if (libc.map(buffer, unlocked.descriptor, bytes)) return memory;
    throw fail('ERR_HOST_UNSUPPORTED', file.path, 'cannot be mapped');
  } finally {
    unlocked.close();
  }
}

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
  opened = (identity: string) => open.get(identity)?.memory,
): void {
  const region = AnyRegion.open(memory);
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
function isFileOf(region: AnyRegion, { descriptor }: RegionFile, opener: number): boolean {
  if (!region.holds(region.entries, PROCESSES_BYTES)) return false;
  const at = region.entries + opener * PROCESS_BYTES;
  const entry = new Uint8Array(PROCESS_BYTES);
  readSync(descriptor, entry, 0, PROCESS_BYTES, at);
  const own = new Uint8Array(region.buffer, at, PROCESS_BYTES);
  return own.some((byte) => byte !== 0) && entry.every((byte, i) => byte === own[i]);
}

openSharedWith((path) => {
  const known = [...open.values()].find((region) => region.path === path);
  return (known ?? HostRegion.find(path)).memory;
}, join);

pollWith((buffer) => new PollerThread(buffer));
