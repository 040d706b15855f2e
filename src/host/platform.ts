import type { Libc } from './libc.ts';
import type { Machine } from './machine.ts';

/** How `fcntl` locks bytes of an open file: its commands, and the layout of `struct flock`. */
interface LockFormat {
  /** F_OFD_SETLK */
  readonly set: number;
  /** F_OFD_GETLK */
  readonly get: number;
  /** F_WRLCK */
  readonly exclusive: number;
  /** F_UNLCK */
  readonly none: number;
  readonly bytes: number;
  /** Byte offsets: start and length are i64, type is i16. Everything else stays 0. */
  readonly start: number;
  readonly length: number;
  readonly type: number;
}

/** The differences between the systems that can share regions in files. */
export interface Platform {
  /** As in `process.platform`. */
  readonly name: string;
  /** As in `process.arch`. */
  readonly architectures: readonly string[];
  /** The folder of a region's file if its path is a name. */
  readonly folder: string;
  readonly lock: LockFormat;
  /** @throws the error of `require` if koffi is missing or cannot be loaded. */
  loadKoffi(): Libc;
  /**
   * Returns undefined if this Node.js has no `node:ffi`, and throws if it must not be used. Absent
   * if `node:ffi` cannot call all functions of this system.
   */
  readonly loadNodeFfi?: () => Libc | undefined;
  /** @throws HandleError `ERR_HOST_UNSUPPORTED` if the system does not tell when it started. */
  findMachine(): Machine;
}
