import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The library that calls the functions of the system. */
export type BindingName = 'node:ffi' | 'koffi';

/** Functions of libc. Those that return a number return 0 or an error number. */
export interface Libc {
  readonly name: BindingName;
  /** Maps a file over shared memory; false if that failed. */
  map(memory: SharedArrayBuffer, file: number, bytes: number): boolean;
  /** Allocates the file's blocks, so that none is missing later. */
  allocate(file: number, at: number, bytes: number): number;
  /** `fchmod`, which Node.js refuses under the permission model, even for files it may write. */
  chmod(file: number, mode: number): number;
  /** `fcntl` with a `struct flock`, which it changes. Not 0 if it failed. */
  lock(file: number, command: number, flock: Uint8Array): number;
}

/** PROT_READ | PROT_WRITE, and MAP_SHARED | MAP_FIXED. */
const MAPPING = { protection: 3, flags: 0x11 } as const;

/** Declares a function of the C library. A last parameter `...` makes it variadic. */
type Declare = (
  name: string,
  result: string,
  parameters: readonly string[],
) => (...args: unknown[]) => number;

/** The parts of koffi used here. Its types may be missing. */
interface Koffi {
  load(path: null): { func: Declare };
  errno(): number;
}

/** koffi, and the functions common to all systems. */
export interface KoffiLibc {
  readonly common: Pick<Libc, 'name' | 'map' | 'chmod'>;
  readonly declare: Declare;
  /** The number of the last error. */
  readonly errno: () => number;
}

/** @throws the error of `require` if koffi is missing or cannot be loaded. */
export function openKoffi(): KoffiLibc {
  const koffi = require('koffi') as Koffi;
  const libc = koffi.load(null);
  const addresses = ['void *', 'size_t', 'int', 'int', 'int', 'int64_t'];
  const mmap = libc.func('mmap', 'intptr_t', addresses);
  const fchmod = libc.func('fchmod', 'int', ['int', 'int']);
  const { protection, flags } = MAPPING;
  return {
    common: {
      name: 'koffi',
      map: (memory, file, bytes) =>
        Number(mmap(new Uint8Array(memory), bytes, protection, flags, file, 0)) !== -1,
      chmod: (file, mode) => fchmod(file, mode),
    },
    declare: (...declaration) => libc.func(...declaration),
    errno: () => koffi.errno(),
  };
}

/** The parts of `node:ffi` used here. */
interface NodeFfi {
  readonly DynamicLibrary: new (
    path: null,
  ) => {
    getFunction(
      name: string,
      signature: { readonly arguments: readonly string[]; readonly return: string },
    ): (...args: unknown[]) => number | bigint;
  };
  getRawPointer(source: SharedArrayBuffer): bigint;
}

/** Loads `node:ffi`; undefined if this Node.js has none. Throws if it must not be used. */
export function loadNodeFfi(): Libc | undefined {
  const ffi = findNodeFfi();
  if (ffi === undefined) return undefined;
  const libc = new ffi.DynamicLibrary(null);
  const load = (name: string, result: string, ...parameters: string[]) =>
    libc.getFunction(name, { arguments: parameters, return: result });
  const addresses = ['uint64', 'uint64', 'int32', 'int32', 'int32', 'int64'];
  const mmap = load('mmap', 'int64', ...addresses);
  const fallocate = load('posix_fallocate', 'int32', 'int32', 'int64', 'int64');
  const fcntl = load('fcntl', 'int32', 'int32', 'int32', 'pointer');
  const fchmod = load('fchmod', 'int32', 'int32', 'int32');
  const { protection, flags } = MAPPING;
  return {
    name: 'node:ffi',
    map(memory, file, bytes) {
      const address = ffi.getRawPointer(memory);
      return mmap(address, BigInt(bytes), protection, flags, file, 0n) === address;
    },
    chmod: (file, mode) => Number(fchmod(file, mode)),
    allocate: (file, at, bytes) => Number(fallocate(file, BigInt(at), BigInt(bytes))),
    lock: (file, command, flock) => Number(fcntl(file, command, flock)),
  };
}

function findNodeFfi(): NodeFfi | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown };
  if (getBuiltinModule === undefined) return undefined;
  // Versions in which node:ffi was still changing may lack other values.
  const ffi = unwarned(() => getBuiltinModule.call(process, 'node:ffi') as Partial<NodeFfi>);
  return ffi?.DynamicLibrary !== undefined && ffi.getRawPointer !== undefined
    ? (ffi as NodeFfi)
    : undefined;
}

/**
 * Loads `node:ffi` without its warning, once a thread, that it is experimental: the user of a
 * library cannot act on it. Other warnings pass.
 */
function unwarned<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    const isOfFfi = rest[0] === 'ExperimentalWarning' && `${warning}`.startsWith('FFI ');
    if (!isOfFfi) Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
