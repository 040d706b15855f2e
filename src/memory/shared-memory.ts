import { RateLimitError } from '../errors.ts';
import { checkOptions } from '../known-options.ts';
import { checkFlag, checkNumber, shown } from '../options.ts';
import { LINE_BYTES, wholeLines } from './layout.ts';

/**
 * Allocates shared memory.
 *
 * @throws RateLimitError `ERR_NO_SHARED_MEMORY` in a page that is not cross-origin isolated.
 */
export function sharedBytes(bytes: number): SharedArrayBuffer {
  checkSharedMemory();
  return new SharedArrayBuffer(bytes);
}

/** Throws as {@link sharedBytes} does if there is no shared memory. */
function checkSharedMemory(): void {
  if (typeof SharedArrayBuffer !== 'undefined') return;
  throw new RateLimitError(
    'ERR_NO_SHARED_MEMORY',
    'SharedArrayBuffer is missing: serve the page with Cross-Origin-Opener-Policy: same-origin and ' +
      'Cross-Origin-Embedder-Policy: require-corp',
  );
}

// The parts of WebAssembly used here. Only the DOM library declares them, and they may be missing.

/** A `WebAssembly.Memory`. */
export interface WasmMemory {
  readonly buffer: ArrayBufferLike;
}

interface WasmNamespace {
  readonly Memory: {
    new (limits: { initial: number; maximum: number; shared: boolean }): WasmMemory;
    readonly prototype: WasmMemory;
  };
  readonly Module: new (binary: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: Record<string, Record<string, unknown>>,
  ) => { readonly exports: object };
}

declare const WebAssembly: WasmNamespace | undefined;

/** WebAssembly; undefined if it is missing. */
export const webAssembly: WasmNamespace | undefined =
  typeof WebAssembly === 'undefined' ? undefined : WebAssembly;

/**
 * The most live WebAssembly memories of a thread. Each reserves 10 GiB of addresses, of which a
 * process has 128 TiB in all.
 */
const MOST = 1000;

/**
 * This thread's WebAssembly memories. It creates no more while it has too many, or after a failure,
 * for which V8 searches for addresses for up to two seconds.
 */
export class WasmMemories {
  readonly #most: number;
  #hasFailed = false;
  /** The number of objects by region: each message that brought the memory made another one. */
  readonly #objects = new Map<number, number>();
  readonly #known = new WeakSet<WasmMemory>();
  readonly #collected = new FinalizationRegistry<number>((region) => this.#forget(region));

  constructor(most: number) {
    this.#most = most;
  }

  /** The number of regions whose memories this thread has. */
  get regions(): number {
    return this.#objects.size;
  }

  /** Creates a memory; undefined if plain memory must do. `isNeeded` ignores the bound. */
  create(pages: number, isNeeded: boolean): WasmMemory | undefined {
    if (webAssembly === undefined) return undefined;
    if (!isNeeded && (this.#hasFailed || this.regions >= this.#most)) return undefined;
    try {
      return new webAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    } catch {
      this.#hasFailed = true;
      return undefined;
    }
  }

  /** Counts the memory of a region until it is collected as garbage. */
  hold(memory: WasmMemory, region: number): void {
    if (this.#known.has(memory)) return;
    this.#known.add(memory);
    this.#objects.set(region, (this.#objects.get(region) ?? 0) + 1);
    this.#collected.register(memory, region);
  }

  #forget(region: number): void {
    const left = (this.#objects.get(region) ?? 1) - 1;
    if (left > 0) this.#objects.set(region, left);
    else this.#objects.delete(region);
  }
}

/** The memories of this thread. */
export const wasmMemories = /* @__PURE__ */ new WasmMemories(MOST);

export const PAGE_BYTES = 65_536;
/** The smallest region: its header and one line. */
export const MIN_BYTES = 2 * LINE_BYTES;

/** The usable part of a region: offsets are 32-bit integers. */
export const MAX_BYTES = 2 ** 31 - PAGE_BYTES;

/** Shared memory that can be sent to another thread. */
export type SharedMemory = WasmMemory | SharedArrayBuffer;

// These getters throw unless `this` is a real buffer or memory, of any realm.
const sharedLength =
  typeof SharedArrayBuffer === 'undefined'
    ? undefined
    : Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, 'byteLength')?.get;
const memoryBuffer =
  webAssembly && Object.getOwnPropertyDescriptor(webAssembly.Memory.prototype, 'buffer')?.get;

/** Whether `value` is a real SharedArrayBuffer. */
export function isShared(value: unknown): value is SharedArrayBuffer {
  try {
    return sharedLength?.call(value) !== undefined;
  } catch {
    return false;
  }
}

/** The buffer of shared memory; undefined for anything else. */
export function bufferOf(memory: unknown): SharedArrayBuffer | undefined {
  if (isShared(memory)) return memory;
  try {
    const buffer: unknown = memoryBuffer?.call(memory);
    return isShared(buffer) ? buffer : undefined;
  } catch {
    return undefined;
  }
}

/** Defined in a bundle without the JavaScript target, which plain memory requires. */
declare const ZEROTIME_WASM_ONLY: unknown;

/**
 * Allocates whole pages: for WebAssembly if this thread may have another such memory, otherwise
 * plain.
 */
export function allocateMemory(bytes: number, plain: boolean | undefined): SharedMemory {
  const isNeeded = plain === false || typeof ZEROTIME_WASM_ONLY !== 'undefined';
  return allocatePages(bytes, isNeeded) ?? sharedBytes(Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES);
}

/** Allocates whole pages for WebAssembly; undefined if the addresses for them are used up. */
export function allocatePages(bytes: number, isNeeded = true): WasmMemory | undefined {
  checkSharedMemory();
  return wasmMemories.create(Math.ceil(bytes / PAGE_BYTES), isNeeded);
}

/** Allocates whole lines, which WebAssembly cannot use but which reserve no extra addresses. */
function allocatePlain(bytes: number): SharedArrayBuffer {
  return sharedBytes(Math.max(MIN_BYTES, wholeLines(bytes)));
}

/** Options of {@link Region.create}. */
export interface RegionOptions {
  /**
   * Size in bytes. Default 65,536: about 110 buckets. Rounded up to a multiple of 65,536, or of 64
   * if `plain` is true.
   */
  readonly bytes?: number;
  /** Your own memory, at least 128 bytes, instead of `bytes`. Its contents are overwritten. */
  readonly buffer?: SharedArrayBuffer;
  /**
   * Whether the memory is a plain SharedArrayBuffer, on which limiters run as JavaScript. Set it if
   * you need tens of thousands of regions: a `WebAssembly.Memory` reserves 10 GiB of addresses, of
   * which a process has 128 TiB. False always tries a `WebAssembly.Memory`. Default: false while
   * this thread has fewer than 1,000 of those, created or attached to; otherwise, and after a
   * failed attempt, true.
   */
  readonly plain?: boolean;
}

/**
 * Allocates the memory of a new region.
 *
 * @throws RangeError, TypeError for an invalid option, naming it.
 */
export function memoryOf(options: RegionOptions): SharedMemory {
  const { bytes, buffer, plain } = checkOptions(options, {
    bytes: true,
    buffer: true,
    plain: true,
  });
  if (buffer === undefined) {
    const size = bytes === undefined ? PAGE_BYTES : bytes;
    checkNumber('bytes', size, { min: 1, max: MAX_BYTES, integer: true });
    return checkFlag('plain', plain, false) ? allocatePlain(size) : allocateMemory(size, plain);
  }
  if (bytes !== undefined) throw new TypeError('give bytes or buffer, not both');
  if (plain !== undefined) throw new TypeError('give plain or buffer, not both');
  if (!isShared(buffer)) {
    throw new TypeError(`buffer must be a SharedArrayBuffer, got ${shown(buffer)}`);
  }
  checkNumber('buffer.byteLength', buffer.byteLength, { min: MIN_BYTES });
  return buffer;
}
