import { HandleError, RateLimitError } from '../errors.ts';
import { checkNumber, checkObject, shown } from '../options.ts';
import { LINE_BYTES, REGION, REGION_HEADER_BYTES, REGION_MAGIC, REGION_VERSION } from './layout.ts';
import { readFields } from './read-fields.ts';
import { type WasmMemory, webAssembly } from './web-assembly.ts';

const PAGE_BYTES = 65_536;
/** Offsets are 32-bit integers. */
const MAX_BYTES = 2 ** 31 - PAGE_BYTES;

/** Shared memory that can be sent to another thread. */
export type SharedMemory = WasmMemory | SharedArrayBuffer;

/** Sends a {@link Region} to another thread: by workerData, postMessage or structuredClone. */
export interface RegionHandle {
  /** What it is a handle of. */
  readonly zerotime: 'region';
  /** Of the memory's layout: only the same version can attach to it. */
  readonly version: number;
  /** The region's memory, which is shared and not copied. */
  readonly memory: SharedMemory;
}

/** Where a region's memory comes from. */
export interface RegionOptions {
  /** Size in bytes, rounded up to pages of 64 KiB. Default 65,536: about 110 buckets. */
  readonly bytes?: number;
  /** Memory of your own, at least 128 bytes. What it held is overwritten. Instead of `bytes`. */
  readonly buffer?: SharedArrayBuffer;
}

// The getters' own brand checks tell a real buffer from an object that resembles one, in any realm.
const sharedLength = Object.getOwnPropertyDescriptor(
  SharedArrayBuffer.prototype,
  'byteLength',
)?.get;
const memoryBuffer =
  webAssembly && Object.getOwnPropertyDescriptor(webAssembly.Memory.prototype, 'buffer')?.get;

/** Whether `value` is a SharedArrayBuffer, whatever it says of itself. */
export function isShared(value: unknown): value is SharedArrayBuffer {
  try {
    sharedLength?.call(value);
    return true;
  } catch {
    return false;
  }
}

function bufferOf(memory: unknown): SharedArrayBuffer | undefined {
  if (isShared(memory)) return memory;
  try {
    const buffer: unknown = memoryBuffer?.call(memory);
    return isShared(buffer) ? buffer : undefined;
  } catch {
    return undefined;
  }
}

function allocateMemory(bytes: number): SharedMemory {
  const pages = Math.ceil(bytes / PAGE_BYTES);
  if (webAssembly !== undefined) {
    try {
      return new webAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    } catch {
      // No address space left for its guard pages: plain memory does as well.
    }
  }
  return new SharedArrayBuffer(pages * PAGE_BYTES);
}

/**
 * One block of shared memory that holds limiters. A limiter's place in it is not used again.
 * Limiters made without a region share a default one of their thread. A region of your own is freed when nobody holds it or a
 * limiter on it: use one for limiters that come and go.
 *
 * @example
 * ```ts
 * const region = Region.create({ bytes: 65_536 });
 * const bucket = TokenBucket.create({ rate: 100, burst: 10, region });
 * ```
 */
export class Region {
  /** The shared bytes. */
  readonly buffer: SharedArrayBuffer;
  readonly #memory: SharedMemory;
  /** Views of the whole region, made once for all of its limiters. @internal */
  readonly i32: Int32Array<SharedArrayBuffer>;
  /** @internal */
  readonly i64: BigInt64Array<SharedArrayBuffer>;
  /** @internal */
  readonly f64: Float64Array<SharedArrayBuffer>;

  private constructor(memory: SharedMemory, buffer: SharedArrayBuffer) {
    this.#memory = memory;
    this.buffer = buffer;
    const bytes = Math.min(buffer.byteLength, MAX_BYTES);
    this.i32 = new Int32Array(buffer, 0, bytes >>> 2);
    this.i64 = new BigInt64Array(buffer, 0, bytes >>> 3);
    this.f64 = new Float64Array(buffer, 0, bytes >>> 3);
  }

  /**
   * Makes an empty region.
   *
   * @throws RangeError for a size that is not between 1 and 2^31 - 65,536 bytes, or a buffer that is too small.
   * @throws TypeError for a buffer that is not a SharedArrayBuffer.
   */
  static create(options: RegionOptions = {}): Region {
    const { bytes, buffer } = checkObject('options', options);
    let memory: SharedMemory;
    if (buffer === undefined) {
      memory = allocateMemory(
        checkNumber('bytes', bytes ?? PAGE_BYTES, { min: 1, max: MAX_BYTES, integer: true }),
      );
    } else {
      if (bytes !== undefined) throw new TypeError('give bytes or buffer, not both');
      if (!isShared(buffer)) {
        throw new TypeError(`buffer must be a SharedArrayBuffer, got ${shown(buffer)}`);
      }
      checkNumber('buffer.byteLength', buffer.byteLength, { min: 2 * LINE_BYTES });
      memory = buffer;
    }
    // `buffer` was checked above, and allocateMemory makes nothing else.
    const region = new Region(memory, bufferOf(memory) as SharedArrayBuffer);
    region.i32[REGION.version] = REGION_VERSION;
    region.i32[REGION.used] = REGION_HEADER_BYTES;
    Atomics.store(region.i32, REGION.magic, REGION_MAGIC);
    return region;
  }

  /**
   * Attaches to a region of another thread, to make further limiters on it.
   *
   * @throws HandleError if `handle` is no region's.
   */
  static attach(handle: RegionHandle): Region {
    const { zerotime, memory } = readFields("a region's handle", handle, 'zerotime', 'memory');
    if (zerotime !== 'region') {
      throw new HandleError(
        'ERR_HANDLE_INVALID',
        `not a region's handle: its zerotime is ${shown(zerotime)}`,
      );
    }
    return Region.open(memory);
  }

  /** Checks that `memory` holds a region, and opens it. @internal */
  static open(memory: unknown): Region {
    const buffer = bufferOf(memory);
    if (buffer === undefined) {
      throw new HandleError(
        'ERR_HANDLE_INVALID',
        `the handle's memory must be a SharedArrayBuffer or a shared WebAssembly.Memory, got ${shown(memory)}`,
      );
    }
    if (buffer.byteLength < 2 * LINE_BYTES) {
      throw new HandleError('ERR_REGION_INVALID', `a region has at least ${2 * LINE_BYTES} bytes`);
    }
    const region = new Region(memory as SharedMemory, buffer);
    if (Atomics.load(region.i32, REGION.magic) !== REGION_MAGIC) {
      throw new HandleError('ERR_REGION_INVALID', 'the memory holds no region of zerotime');
    }
    const version = region.i32[REGION.version];
    if (version !== REGION_VERSION) {
      throw new HandleError(
        'ERR_REGION_INVALID',
        `the region has format version ${version}, this is version ${REGION_VERSION}`,
      );
    }
    return region;
  }

  /** What to send to another thread. */
  get handle(): RegionHandle {
    return { zerotime: 'region', version: REGION_VERSION, memory: this.#memory };
  }

  /** The memory itself, as a handle carries it. @internal */
  get memory(): SharedMemory {
    return this.#memory;
  }

  /** Bytes not yet taken by limiters. */
  get bytesFree(): number {
    const used = Atomics.load(this.i32, REGION.used);
    return Math.max(0, this.i32.byteLength - used);
  }

  /** Whether a cell of `bytes` at `offset` lies on its boundary and within what was taken. @internal */
  holds(offset: number, bytes: number): boolean {
    const used = Atomics.load(this.i32, REGION.used);
    return (
      Number.isInteger(offset) &&
      offset >= REGION_HEADER_BYTES &&
      offset % LINE_BYTES === 0 &&
      offset + bytes <= used &&
      used <= this.i32.byteLength
    );
  }

  /** Takes `bytes` on a line boundary, or returns undefined where there is no room. @internal */
  tryAllocate(bytes: number): number | undefined {
    const size = Math.ceil(bytes / LINE_BYTES) * LINE_BYTES;
    for (;;) {
      const used = Atomics.load(this.i32, REGION.used);
      if (used < REGION_HEADER_BYTES || used % LINE_BYTES !== 0) {
        throw new HandleError('ERR_REGION_DAMAGED', `the region says that ${used} bytes are used`);
      }
      if (used + size > this.i32.byteLength) return undefined;
      if (Atomics.compareExchange(this.i32, REGION.used, used, used + size) === used) return used;
    }
  }

  /** Like {@link tryAllocate}, but throws RateLimitError `ERR_REGION_FULL`. @internal */
  allocate(bytes: number): number {
    const offset = this.tryAllocate(bytes);
    if (offset === undefined) {
      throw new RateLimitError(
        'ERR_REGION_FULL',
        `the region has ${this.bytesFree} bytes free, the limiter needs ${bytes}`,
      );
    }
    return offset;
  }
}

const MAX_DEFAULT_BYTES = 4_194_304;
let defaultRegion: Region | undefined;

/** Takes `bytes` in the default region of this thread; when it is full, a region twice as large follows. */
export function allocateByDefault(bytes: number): { region: Region; offset: number } {
  const offset = defaultRegion?.tryAllocate(bytes);
  if (defaultRegion !== undefined && offset !== undefined) return { region: defaultRegion, offset };
  const last = defaultRegion?.buffer.byteLength ?? PAGE_BYTES / 2;
  const size = Math.max(Math.min(last * 2, MAX_DEFAULT_BYTES), bytes + REGION_HEADER_BYTES);
  defaultRegion = Region.create({ bytes: size });
  return { region: defaultRegion, offset: defaultRegion.allocate(bytes) };
}
