import { checkOptions } from '../known-options.ts';
import { checkFlag, checkNumber, shown } from '../options.ts';
import {
  allocateMemory,
  allocatePlain,
  isShared,
  MAX_BYTES,
  MIN_BYTES,
  PAGE_BYTES,
  type SharedMemory,
} from './shared-memory.ts';

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
    const size = bytes ?? PAGE_BYTES;
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
