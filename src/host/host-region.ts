import { closeSync } from 'node:fs';
import { HandleError } from '../errors.ts';
import {
  PROCESSES_BYTES,
  REGION,
  REGION_FILE,
  REGION_HEADER_BYTES,
  REGION_MAGIC,
  REGION_VERSION,
} from '../memory/layout.ts';
import { Region } from '../memory/region.ts';
import { allocateMemory, isShared, PAGE_BYTES } from '../memory/shared-memory.ts';
import { openSharedWith } from '../memory/sharing.ts';
import type { WasmMemory } from '../memory/web-assembly.ts';
import { join } from './attached.ts';
import { FileLocks } from './file-locks.ts';
import {
  checkHostOptions,
  DEFAULT_BYTES,
  DEFAULT_MODE,
  type HostRegionOptions,
} from './host-options.ts';
import type { BindingName, Libc } from './libc.ts';
import { type HostLimiter, HostLimiters } from './limiters.ts';
import { thisMachine } from './machine.ts';
import { Membership } from './membership.ts';
import { loadLibc } from './native.ts';
import type { HostProcess } from './processes.ts';
import { allocateFile, checkRegion, openFile, pathOf, type RegionFile } from './region-file.ts';

/** The number of the lock under which a region is created; processes have those from 1 on. */
const CREATION = 0;
const PATIENCE_MS = 10_000;

/** The regions that this thread has open, by their files. */
const open = new Map<string, HostRegion>();

type Opened = { readonly file: RegionFile; readonly libc: Libc; readonly locks: FileLocks };

/**
 * A region in a file that any processes of one machine share. Its limiters keep one exact limit over
 * all of them, at the cost of a call within one process. Requires 64-bit Linux, and `node:ffi` or the
 * package koffi.
 *
 * Open limiters in it by name. What a process holds comes back within a second after it has ended,
 * however that was.
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
  /** What calls the system's functions. */
  readonly binding: BindingName;
  readonly #file: RegionFile;
  readonly #membership: Membership;
  readonly #limiters = new HostLimiters();

  private constructor(memory: WasmMemory, { file, libc, locks }: Opened, isNew: boolean) {
    super(memory, memory.buffer as SharedArrayBuffer); // just allocated
    this.#file = file;
    this.path = file.path;
    this.binding = libc.name;
    if (isNew) this.#publish();
    if (!this.holds(this.i32[REGION.processes] ?? 0, PROCESSES_BYTES)) {
      throw new HandleError('ERR_REGION_DAMAGED', `${file.path} has no room for its processes`);
    }
    this.#membership = new Membership(this, locks, file.path);
  }

  /**
   * Opens the region of a file, and creates it if there is none. Any number of processes may do so at
   * once: one of them creates it. A thread that opens a region twice gets the same object.
   *
   * @throws HandleError `ERR_HOST_UNSUPPORTED`, `ERR_HOST_DENIED`, `ERR_HOST_FULL`, `ERR_HOST_STALE`,
   * `ERR_HOST_BUSY`, or `ERR_REGION_INVALID` if the file holds something else, was cut, or has
   * another size or version.
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  static override open(options: HostRegionOptions): HostRegion {
    const { path, bytes, mode, owner, binding } = checkHostOptions(options);
    const wanted = { owner, mode, isCreated: true };
    return HostRegion.#open(path, wanted, bytes, binding);
  }

  /**
   * Opens the region of a file that exists; it never creates one.
   *
   * @throws HandleError as {@link open} does; `ERR_REGION_INVALID` if there is no file.
   */
  static find(path: string, owner?: number): HostRegion {
    return HostRegion.#open(path, { owner, mode: DEFAULT_MODE, isCreated: false });
  }

  static #open(
    path: string,
    wanted: Parameters<typeof openFile>[1],
    bytes?: number,
    binding?: BindingName,
  ): HostRegion {
    const libc = loadLibc(binding);
    const file = openFile(pathOf(path), wanted);
    const size = bytes === undefined ? undefined : Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
    try {
      const known = open.get(file.identity);
      if (known !== undefined) {
        checkSize(file, known.buffer.byteLength, size);
        closeSync(file.descriptor);
        return known;
      }
      const locks = new FileLocks(libc, file.descriptor);
      const region = underLock(file, locks, () => {
        const found = checkRegion(file);
        if (found === undefined && !wanted.isCreated) {
          throw new HandleError('ERR_REGION_INVALID', `${file.path} holds no region yet`);
        }
        if (found !== undefined) checkSize(file, found, size);
        const whole = found ?? size ?? DEFAULT_BYTES;
        if (found === undefined) allocateFile(file, libc, whole, wanted.mode);
        return new HostRegion(
          map({ file, libc }, whole, wanted),
          { file, libc, locks },
          found === undefined,
        );
      });
      open.set(file.identity, region);
      return region;
    } catch (error) {
      closeSync(file.descriptor);
      throw error;
    }
  }

  #publish(): void {
    const { boot, timeSpace } = thisMachine();
    this.i32[REGION.version] = REGION_VERSION;
    this.i32[REGION.used] = REGION_HEADER_BYTES + PROCESSES_BYTES;
    this.i32[REGION.processes] = REGION_HEADER_BYTES;
    this.i32[REGION.bytes] = this.buffer.byteLength;
    new Uint8Array(this.buffer, REGION_FILE.boot, boot.length).set(boot);
    this.f64[REGION_FILE.timeSpace >> 3] = timeSpace;
    // Last: a file without it is made anew.
    Atomics.store(this.i32, REGION.magic, REGION_MAGIC);
  }

  /** The processes that have the region open. Threads that opened it themselves count each. */
  processes(): readonly HostProcess[] {
    return this.#membership.list();
  }

  /**
   * The limiters with a name, in the order in which they were created. This thread attaches to each
   * at the first call.
   */
  limiters(): readonly HostLimiter[] {
    return this.#limiters.list(this);
  }

  /**
   * Gives back what this process holds in the region, such as permits, and its entry. Call it when no
   * limiter in the region is used any more. A process that ends need not.
   */
  close(): void {
    if (open.get(this.#file.identity) !== this) return;
    open.delete(this.#file.identity);
    this.#membership.leave();
    closeSync(this.#file.descriptor);
  }

  /** {@link close}, for `using`. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    this.close();
  }
}

function checkSize({ path }: RegionFile, found: number, wanted: number | undefined): void {
  if (wanted === undefined || wanted === found) return;
  throw new HandleError('ERR_REGION_INVALID', `${path} has ${found} bytes, not ${wanted}`);
}

/** Runs `action` while no other process creates or checks the region. */
function underLock<T>({ path }: RegionFile, locks: FileLocks, action: () => T): T {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  while (!locks.take(CREATION)) {
    if (performance.now() > giveUpAtMs) {
      throw new HandleError(
        'ERR_HOST_BUSY',
        `${path} is being created by a process that stands still`,
      );
    }
    Atomics.wait(pause, 0, 0, 1);
  }
  try {
    return action();
  } finally {
    locks.release(CREATION);
  }
}

/**
 * Maps the file over memory for WebAssembly, whose pages it replaces. A mapping keeps its open file
 * alive, and with it all locks, so it gets one without any.
 */
function map(
  { file, libc }: Pick<Opened, 'file' | 'libc'>,
  bytes: number,
  wanted: Parameters<typeof openFile>[1],
): WasmMemory {
  const memory = allocateMemory(bytes);
  if (isShared(memory)) {
    throw new HandleError(
      'ERR_HOST_UNSUPPORTED',
      'zerotime/host needs WebAssembly, and address space for its memory',
    );
  }
  const buffer = memory.buffer as SharedArrayBuffer; // allocated as shared
  const { descriptor, identity } = openFile(file.path, { ...wanted, isCreated: false });
  try {
    if (identity !== file.identity) {
      throw new HandleError('ERR_REGION_INVALID', `${file.path} was replaced while it was opened`);
    }
    if (libc.map(buffer, descriptor, bytes)) return memory;
    throw new HandleError('ERR_HOST_UNSUPPORTED', `${file.path} cannot be mapped`);
  } finally {
    closeSync(descriptor);
  }
}

openSharedWith(
  (path) => {
    const known = [...open.values()].find((region) => region.path === path);
    return (known ?? HostRegion.find(path)).memory;
  },
  (memory, path, opener) => join(memory, path, opener, (identity) => open.get(identity)?.memory),
);
