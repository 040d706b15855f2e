import { HandleError } from '../errors.ts';
import { BOOT_BYTES } from '../memory/layout.ts';
import type { Libc } from './libc.ts';

/** The machine state that a process's monotonic clock depends on. */
export interface Machine {
  /** The random id of the machine's last start. */
  readonly boot: Uint8Array;
  /** The time namespace; 0 if the system has none. */
  readonly timeNamespace: number;
}

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

export function unsupported(message: string, cause?: unknown): HandleError {
  return new HandleError('ERR_HOST_UNSUPPORTED', message, cause === undefined ? {} : { cause });
}

/** The error of reading a file that the permission model forbids. */
export function forbiddenToRead(path: string | undefined, cause: unknown): HandleError {
  return unsupported(
    `the permission model forbids reading ${path}: start Node.js with --allow-fs-read for it`,
    cause,
  );
}

/**
 * Returns the hexadecimal id in a text, ignoring other characters.
 *
 * @throws HandleError `ERR_HOST_UNSUPPORTED` if there is none, naming `source`.
 */
export function bootIdIn(text: string, source: string): Uint8Array {
  const id = Buffer.from(text.replaceAll(/[^0-9a-f]/gi, ''), 'hex');
  if (id.length === BOOT_BYTES) return id;
  throw unsupported(`${source} holds no id`);
}
