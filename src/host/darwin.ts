import { ftruncateSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { type KoffiLibc, type Libc, openKoffi } from './libc.ts';
import { bootIdIn, type Platform, unsupported } from './platform.ts';

// The numbers are from Apple's headers: bsd/sys/fcntl.h of XNU. Untested on a Mac.

const BOOT_ID = 'kern.bootsessionuuid';
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
  loadKoffi,
  findMachine: () => ({ boot: bootId(openKoffi()), timeNamespace: 0 }),
};

function loadKoffi(): Libc {
  const { common, declare, errno } = openKoffi();
  // On arm64, variable arguments are passed in other places than the rest.
  const fcntl = declare('fcntl', 'int', ['int', 'int', '...']);
  return {
    ...common,
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

function bootId({ declare, errno }: KoffiLibc): Uint8Array {
  const parameters = ['str', 'void *', 'void *', 'void *', 'size_t'];
  const sysctlbyname = declare('sysctlbyname', 'int', parameters);
  const text = new Uint8Array(BOOT_ID_BYTES);
  const length = BigUint64Array.of(BigInt(BOOT_ID_BYTES));
  if (sysctlbyname(BOOT_ID, text, length, null, 0) !== 0) {
    throw unsupported(
      `zerotime/host cannot read ${BOOT_ID}: sysctlbyname failed with error ${errno()}`,
    );
  }
  return bootIdIn(Buffer.from(text).toString('latin1'), BOOT_ID);
}
