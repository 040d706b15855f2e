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

/**
 * Declares a function of the C library by koffi's names of types; `memory` is the address of shared
 * memory. A last parameter `...` makes it variadic.
 */
type Declare = (
  name: string,
  result: string,
  parameters: readonly string[],
) => (...args: unknown[]) => number;

/** A library that calls the functions of the system. Arguments of 64 bits are BigInts. */
export interface Binding {
  readonly name: BindingName;
  readonly declare: Declare;
  /** The argument for a parameter of the type `memory`. */
  readonly addressOf: (memory: SharedArrayBuffer) => unknown;
}

/** The functions that are the same on all systems. */
export function commonLibc({
  name,
  declare,
  addressOf,
}: Binding): Pick<Libc, 'name' | 'map' | 'chmod'> {
  const addresses = ['memory', 'uint64_t', 'int', 'int', 'int', 'int64_t'];
  const mmap = declare('mmap', 'int64_t', addresses);
  const { protection, flags } = MAPPING;
  return {
    name,
    map: (memory, file, bytes) =>
      mmap(addressOf(memory), BigInt(bytes), protection, flags, file, 0n) !== -1,
    chmod: declare('fchmod', 'int', ['int', 'int']),
  };
}

/** The parts of koffi used here. Its types may be missing. */
interface Koffi {
  load(path: null): { func: Declare };
  errno(): number;
}

/**
 * koffi, which also tells the number of the last error.
 *
 * @throws the error of `require` if koffi is missing or cannot be loaded.
 */
export function openKoffi(): Binding & { errno(): number } {
  const koffi = require('koffi') as Koffi;
  const libc = koffi.load(null);
  const typeOf = (type: string) => (type === 'memory' ? 'void *' : type);
  return {
    name: 'koffi',
    declare: (name, result, parameters) => libc.func(name, result, parameters.map(typeOf)),
    addressOf: (memory) => new Uint8Array(memory),
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

/** The types of `node:ffi` by those of koffi. */
const NODE_TYPES: Readonly<Record<string, string>> = {
  int: 'int32',
  int64_t: 'int64',
  uint64_t: 'uint64',
  memory: 'uint64',
  'void *': 'pointer',
};

/** Loads `node:ffi`; undefined if this Node.js has none. Throws if it must not be used. */
export function openNodeFfi(): Binding | undefined {
  const ffi = findNodeFfi();
  if (ffi === undefined) return undefined;
  const libc = new ffi.DynamicLibrary(null);
  const typeOf = (type: string) => NODE_TYPES[type] ?? type;
  return {
    name: 'node:ffi',
    declare: (name, result, parameters) => {
      const signature = { arguments: parameters.map(typeOf), return: typeOf(result) };
      const call = libc.getFunction(name, signature);
      return (...args) => Number(call(...args));
    },
    addressOf: (memory) => ffi.getRawPointer(memory),
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
