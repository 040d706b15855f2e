import { wholeLines } from './layout/lines.ts';
import { LINE_BYTES } from './layout.ts';
import { checkSharedMemory, sharedBytes } from './shared-bytes.ts';
import { wasmMemories } from './wasm-memories.ts';
import { type WasmMemory, webAssembly } from './web-assembly.ts';

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
export function allocatePlain(bytes: number): SharedArrayBuffer {
  return sharedBytes(Math.max(MIN_BYTES, wholeLines(bytes)));
}
