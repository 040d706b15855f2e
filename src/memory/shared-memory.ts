import { checkSharedMemory } from './shared-bytes.ts';
import { type WasmMemory, webAssembly } from './web-assembly.ts';

export const PAGE_BYTES = 65_536;

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

/** Allocates whole pages, for WebAssembly where there is any. */
export function allocateMemory(bytes: number): SharedMemory {
  checkSharedMemory();
  const pages = Math.ceil(bytes / PAGE_BYTES);
  if (webAssembly !== undefined) {
    try {
      return new webAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    } catch {
      // No address space left for its guard pages: use plain memory instead.
    }
  }
  return new SharedArrayBuffer(pages * PAGE_BYTES);
}
