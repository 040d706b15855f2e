import { HandleError, RateLimitError } from '../errors.ts';
import { checkMade, checkNumber, shown } from '../options.ts';
import {
  LINE_BYTES,
  REGION,
  REGION_FILE,
  REGION_HEADER_BYTES,
  REGION_MAGIC,
  REGION_TIME,
  REGION_VERSION,
  wholeLines,
} from './layout.ts';
import {
  allocateMemory,
  bufferOf,
  isShared,
  MAX_BYTES,
  MIN_BYTES,
  type SharedMemory,
  wasmMemories,
} from './shared-memory.ts';
import { openShared, type Sharing, sharingOf } from './sharing.ts';

/** A named limiter or clock in a region. */
export interface Named {
  readonly name: string;
  /** Byte offset of the cell. */
  readonly cell: number;
  /** Byte offset of its clock's cell; 0 for the system clock. */
  readonly clock: number;
}

/** Opens clocks and limiters by name. */
export interface Names<Place> {
  /**
   * Returns the limiter or clock with a name. If the name is new, `create` makes the cell. If
   * threads do this at the same time, one creates and the others find it.
   */
  readonly named: (
    region: Place,
    name: string,
    create: () => Omit<Named, 'name'>,
  ) => Named & { readonly isNew: boolean };
}

/** The names of a region. The default region, which users cannot pass, has none. */
export function namesOf<Place>({
  names,
}: {
  readonly names: Names<Place> | undefined;
}): Names<Place> {
  if (names === undefined)
    throw new TypeError('region must come from Region.create, Region.attach or HostRegion');
  return names;
}

/** How long a sleeper may miss a change by a thread that could not wake it. */
const LOOK_MS = 1000;
/**
 * The same in a region of several processes, where a change wakes only sleepers of its own process.
 */
const SHARED_LOOK_MS = 15;

/** Attaches other threads to a {@link Region}: send it through `workerData` or `postMessage`. */
export interface RegionHandle {
  /** The kind of handle. */
  readonly zerotime: 'region';
  /** Version of the memory layout; both sides must have the same. */
  readonly version: number;
  /** The region's memory, shared rather than copied. */
  readonly memory: SharedMemory;
  /** The file of a region that processes share. */
  readonly path?: string | undefined;
  /** The number of this process's entry in it. */
  readonly process?: number | undefined;
}

/**
 * The memory that limiters lie in. `Region`, which users hold, extends it by names; the default
 * region has none, so that bundles without names contain no code for them.
 */
class RegionBase {
  /** The shared memory of the region. */
  readonly buffer: SharedArrayBuffer;
  readonly #memory: SharedMemory;
  /** Views of the whole region, created once for all its limiters. @internal */
  readonly i32: Int32Array<SharedArrayBuffer>;
  /** @internal */
  readonly i64: BigInt64Array<SharedArrayBuffer>;
  /** @internal */
  readonly f64: Float64Array<SharedArrayBuffer>;

  /** @internal */
  protected constructor(memory: SharedMemory, buffer: SharedArrayBuffer) {
    this.#memory = memory;
    this.buffer = checkMade(new.target, buffer, 'byteLength', `${new.target.name}.create()`);
    const bytes = Math.min(buffer.byteLength, MAX_BYTES);
    this.i32 = new Int32Array(buffer, 0, bytes >>> 2);
    this.i64 = new BigInt64Array(buffer, 0, bytes >>> 3);
    this.f64 = new Float64Array(buffer, 0, bytes >>> 3);
  }

  /** Initializes memory as an empty region. @internal */
  static over(memory: SharedMemory): RegionBase {
    const region = new RegionBase(memory, bufferOf(memory) as SharedArrayBuffer); // always shared
    region.i32.fill(0, 0, REGION_HEADER_BYTES >> 2);
    region.i32[REGION.version] = REGION_VERSION;
    region.i32[REGION.used] = REGION_HEADER_BYTES;
    region.i32[REGION.id] = Math.floor(Math.random() * 2 ** 31);
    Atomics.store(region.i32, REGION.magic, REGION_MAGIC);
    return region.held();
  }

  /**
   * Opens the region of a handle: its memory, or its file if the memory did not reach this process.
   * @internal
   */
  static of(memory: unknown, path?: unknown, process?: unknown): RegionBase {
    const isFile = typeof path === 'string';
    if (isFile && bufferOf(memory) === undefined) return RegionBase.open(openShared(path));
    const region = RegionBase.open(memory);
    if (isFile) sharingOf.learn(region.#memory, path, process);
    return region;
  }

  /** Checks that `memory` holds a region, and opens it. @internal */
  static open(memory: unknown): RegionBase {
    const buffer = bufferOf(memory);
    if (buffer === undefined) {
      throw new HandleError(
        'ERR_HANDLE_INVALID',
        `the handle's memory must be a SharedArrayBuffer or a shared WebAssembly.Memory, got ${shown(memory)}`,
      );
    }
    if (buffer.byteLength < MIN_BYTES) {
      throw new HandleError('ERR_REGION_INVALID', `a region has at least ${MIN_BYTES} bytes`);
    }
    const region = new RegionBase(memory as SharedMemory, buffer);
    if (Atomics.load(region.i32, REGION.magic) !== REGION_MAGIC) {
      throw new HandleError('ERR_REGION_INVALID', 'the memory holds no zerotime region');
    }
    const version = region.i32[REGION.version];
    if (version !== REGION_VERSION) {
      throw new HandleError(
        'ERR_REGION_INVALID',
        `the region has format version ${version}, this is version ${REGION_VERSION}`,
      );
    }
    return region.held();
  }

  /** Counts its memory among this thread's WebAssembly memories, if it is one. @internal */
  protected held(): this {
    if (!isShared(this.#memory)) wasmMemories.hold(this.#memory, this.i32[REGION.id] ?? 0);
    return this;
  }

  /** Send this to another thread and pass it to `Region.attach` there. */
  get handle(): RegionHandle {
    return { zerotime: 'region', version: REGION_VERSION, memory: this.#memory, ...this.place };
  }

  /** Called by `JSON.stringify`: its size and file, without its memory. */
  toJSON(): Readonly<Record<string, number | string>> {
    const { sharing, buffer, bytesFree } = this;
    return { bytes: buffer.byteLength, bytesFree, ...(sharing && { path: sharing.path }) };
  }

  /** The fields of a handle by which other processes find the region. @internal */
  get place(): { readonly path?: string; readonly process?: number } {
    const { sharing } = this;
    return sharing === undefined ? {} : { path: sharing.path, process: sharing.opener };
  }

  /** This thread's view of a region that processes share; undefined for any other. @internal */
  get sharing(): Sharing | undefined {
    return sharingOf.get(this.#memory);
  }

  /** Byte offset of the entries of processes; 0 unless processes share the region. @internal */
  get entries(): number {
    return this.i32[REGION.processes] ?? 0;
  }

  /** The longest time in milliseconds that a sleeper may miss a change. @internal */
  get lookMs(): number {
    return this.entries === 0 ? LOOK_MS : SHARED_LOOK_MS;
  }

  /** The count of events fired in a region that processes share; undefined in any other. @internal */
  get fired(): Int32Array<SharedArrayBuffer> | undefined {
    if (this.entries === 0) return undefined;
    return new Int32Array(this.buffer, REGION_FILE.fired, 1);
  }

  /**
   * What the region's time is ahead of the system's clock; 0 unless it outlived a restart.
   *
   * @throws HandleError `ERR_REGION_DAMAGED`: a wait on a clock that shows no number would never end.
   * @internal
   */
  get shiftUs(): number {
    const { entries } = this;
    const shiftUs = entries === 0 ? 0 : (this.f64[(entries + REGION_TIME.shiftUs) >> 3] ?? 0);
    if (Math.abs(shiftUs) <= Number.MAX_SAFE_INTEGER) return shiftUs;
    throw new HandleError(
      'ERR_REGION_DAMAGED',
      `the region's time cannot be ahead by ${shiftUs} us`,
    );
  }

  /** The memory, as in a handle. @internal */
  get memory(): SharedMemory {
    return this.#memory;
  }

  /** Opens limiters and clocks by name; undefined in the default region. @internal */
  get names(): Names<RegionBase> | undefined {
    return undefined;
  }

  /** Bytes not yet allocated. */
  get bytesFree(): number {
    const used = Atomics.load(this.i32, REGION.used);
    return Math.max(0, this.i32.byteLength - used);
  }

  /** Whether `bytes` at `offset` start on a line boundary and are allocated. @internal */
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

  /** Allocates `bytes` on a line boundary, or returns undefined if there is no room. @internal */
  tryAllocate(bytes: number): number | undefined {
    const size = wholeLines(bytes);
    for (;;) {
      const used = Atomics.load(this.i32, REGION.used);
      if (used < REGION_HEADER_BYTES || used % LINE_BYTES !== 0) {
        throw new HandleError('ERR_REGION_DAMAGED', `the region cannot have ${used} bytes in use`);
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

export { RegionBase as Region };

/** Room for 1820 buckets. Several regions make calls slower, and untouched pages take no memory. */
const FIRST_DEFAULT_BYTES = 1_048_576;
const MAX_DEFAULT_BYTES = 4_194_304;
let defaultRegion: RegionBase | undefined;

/** Allocates in this thread's default region; when that is full, in a new one twice as large. */
export function allocateByDefault(bytes: number): { region: RegionBase; offset: number } {
  const offset = defaultRegion?.tryAllocate(bytes);
  if (defaultRegion !== undefined && offset !== undefined) return { region: defaultRegion, offset };
  const last = defaultRegion?.buffer.byteLength ?? FIRST_DEFAULT_BYTES / 2;
  const size = Math.max(Math.min(last * 2, MAX_DEFAULT_BYTES), bytes + REGION_HEADER_BYTES);
  checkNumber('bytes', size, { max: MAX_BYTES });
  // At most a few of these exist, so they may exceed the bound on WebAssembly memories.
  defaultRegion = RegionBase.over(allocateMemory(size, false));
  return { region: defaultRegion, offset: defaultRegion.allocate(bytes) };
}
