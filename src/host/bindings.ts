import { createRequire } from 'node:module';
import { type Libc, MAPPING } from './libc.ts';

const require = createRequire(import.meta.url);

/** The parts of koffi that are used here; its types may be missing. */
interface Koffi {
  load(path: null): {
    func(
      name: string,
      result: string,
      parameters: readonly string[],
    ): (...args: unknown[]) => number;
  };
}

/** Throws what `require` does if koffi is missing or cannot be loaded. */
export function loadKoffi(): Libc {
  const koffi = require('koffi') as Koffi;
  const libc = koffi.load(null);
  const addresses = ['void *', 'size_t', 'int', 'int', 'int', 'int64_t'];
  const mmap = libc.func('mmap', 'intptr_t', addresses);
  const fallocate = libc.func('posix_fallocate', 'int', ['int', 'int64_t', 'int64_t']);
  const fcntl = libc.func('fcntl', 'int', ['int', 'int', 'void *']);
  const { protection, flags } = MAPPING;
  return {
    name: 'koffi',
    map: (memory, file, bytes) =>
      Number(mmap(new Uint8Array(memory), bytes, protection, flags, file, 0)) !== -1,
    allocate: (file, at, bytes) => fallocate(file, at, bytes),
    lock: (file, command, flock) => fcntl(file, command, flock),
  };
}

/** The parts of `node:ffi` that are used here. */
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

/** Undefined where Node.js has no `node:ffi`. Throws where it must not be used. */
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
  const { protection, flags } = MAPPING;
  return {
    name: 'node:ffi',
    map(memory, file, bytes) {
      const address = ffi.getRawPointer(memory);
      return mmap(address, BigInt(bytes), protection, flags, file, 0n) === address;
    },
    allocate: (file, at, bytes) => Number(fallocate(file, BigInt(at), BigInt(bytes))),
    lock: (file, command, flock) => Number(fcntl(file, command, flock)),
  };
}

function findNodeFfi(): NodeFfi | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown };
  // Other values may be missing from versions in which node:ffi still changed.
  const ffi = getBuiltinModule?.call(process, 'node:ffi') as Partial<NodeFfi> | undefined;
  return ffi?.DynamicLibrary !== undefined && ffi.getRawPointer !== undefined
    ? (ffi as NodeFfi)
    : undefined;
}
