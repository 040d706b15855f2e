import { type Libc, MAPPING } from './libc.ts';

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
