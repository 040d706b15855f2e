import { ftruncateSync, readFileSync, readlinkSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { HandleError } from '../errors.ts';
import { BOOT_BYTES } from '../memory/layout.ts';
import { type Binding, commonLibc, type Libc, openKoffi } from './libc.ts';

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
  /** Whether `node:ffi` can call all functions of this system. */
  readonly hasNodeFfi: boolean;
  /** Declares the functions of the system. */
  libcOf(binding: Binding): Libc;
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
function bootIdIn(text: string, source: string): Uint8Array {
  const id = Buffer.from(text.replaceAll(/[^0-9a-f]/gi, ''), 'hex');
  if (id.length === BOOT_BYTES) return id;
  throw unsupported(`${source} holds no id`);
}

const BOOT_FILE = '/proc/sys/kernel/random/boot_id';
const TIME_NAMESPACE = '/proc/self/ns/time';

/** 64-bit Linux: the layouts are the same on all architectures. */
export const linux: Platform = {
  name: 'linux',
  architectures: ['x64', 'arm64', 'riscv64', 'ppc64', 'loong64', 's390x'],
  folder: '/dev/shm',
  lock: { set: 37, get: 36, exclusive: 1, none: 2, bytes: 32, start: 8, length: 16, type: 0 },
  hasNodeFfi: true,
  libcOf: linuxLibc,
  findMachine: () => ({ boot: linuxBoot(), timeNamespace: timeNamespace() }),
};

function linuxLibc(binding: Binding): Libc {
  const { declare } = binding;
  const fallocate = declare('posix_fallocate', 'int', ['int', 'int64_t', 'int64_t']);
  return {
    ...commonLibc(binding),
    allocate: (file, at, bytes) => fallocate(file, BigInt(at), BigInt(bytes)),
    lock: declare('fcntl', 'int', ['int', 'int', 'void *']),
  };
}

function linuxBoot(): Uint8Array {
  let text: string;
  try {
    text = readFileSync(BOOT_FILE, 'utf8');
  } catch (cause) {
    if (isForbidden(cause)) throw forbiddenToRead(BOOT_FILE, cause);
    throw unsupported(`zerotime/host cannot read ${BOOT_FILE}`, cause);
  }
  return bootIdIn(text, BOOT_FILE);
}

/** The inode of the time namespace; 0 if the kernel has none. */
function timeNamespace(): number {
  try {
    return Number(/\d+/.exec(readlinkSync(TIME_NAMESPACE))?.[0] ?? 0);
  } catch (cause) {
    if (isForbidden(cause)) throw forbiddenToRead(TIME_NAMESPACE, cause);
    return 0;
  }
}

/** By the permission model. */
function isForbidden(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED';
}

// The numbers for macOS are from Apple's headers: bsd/sys/fcntl.h of XNU. Untested on a Mac.

const BOOT_NAME = 'kern.bootsessionuuid';
const BOOT_ID_BYTES = 64;

const PREALLOCATE = 42; // F_PREALLOCATE
const ALL_OR_NOTHING = 4; // F_ALLOCATEALL
const FROM_END = 3; // F_PEOFPOSMODE
/** A `fstore_t`: flags u32, mode i32, offset i64, length i64, bytes allocated i64. */
const FSTORE = { bytes: 32, flags: 0, mode: 4, length: 16 } as const;

/** Both architectures are little-endian. */
const LITTLE_ENDIAN = true;

/** macOS. Its `fcntl` is variadic, and `node:ffi` cannot call variadic functions. */
export const darwin: Platform = {
  name: 'darwin',
  architectures: ['x64', 'arm64'],
  folder: tmpdir(),
  lock: { set: 90, get: 92, exclusive: 3, none: 2, bytes: 24, start: 0, length: 8, type: 20 },
  hasNodeFfi: false,
  libcOf: darwinLibc,
  findMachine: () => ({ boot: darwinBoot(), timeNamespace: 0 }),
};

function darwinLibc(): Libc {
  // The binding without `node:ffi`, which also tells errors.
  const koffi = openKoffi();
  const { declare, errno } = koffi;
  // On arm64, variable arguments are passed in other places than the rest.
  const fcntl = declare('fcntl', 'int', ['int', 'int', '...']);
  return {
    ...commonLibc(koffi),
    allocate(file, at, bytes) {
      const store = new Uint8Array(FSTORE.bytes);
      const view = new DataView(store.buffer);
      view.setUint32(FSTORE.flags, ALL_OR_NOTHING, LITTLE_ENDIAN);
      view.setInt32(FSTORE.mode, FROM_END, LITTLE_ENDIAN);
      view.setBigInt64(FSTORE.length, BigInt(bytes), LITTLE_ENDIAN);
      if (fcntl(file, PREALLOCATE, 'void *', store) === -1) return errno();
      return grow(file, at + bytes);
    },
    lock: (file, command, flock) => fcntl(file, command, 'void *', flock),
  };
}

/** Preallocated blocks become part of the file only when it grows over them. */
function grow(file: number, bytes: number): number {
  try {
    ftruncateSync(file, bytes);
    return 0;
  } catch (error) {
    return Math.abs((error as NodeJS.ErrnoException).errno ?? constants.errno.EIO);
  }
}

function darwinBoot(): Uint8Array {
  const { declare, errno } = openKoffi();
  const parameters = ['str', 'void *', 'void *', 'void *', 'size_t'];
  const sysctlbyname = declare('sysctlbyname', 'int', parameters);
  const text = new Uint8Array(BOOT_ID_BYTES);
  const length = BigUint64Array.of(BigInt(BOOT_ID_BYTES));
  if (sysctlbyname(BOOT_NAME, text, length, null, 0) !== 0) {
    throw unsupported(
      `zerotime/host cannot read ${BOOT_NAME}: sysctlbyname failed with error ${errno()}`,
    );
  }
  return bootIdIn(Buffer.from(text).toString('latin1'), BOOT_NAME);
}
