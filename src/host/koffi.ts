import { createRequire } from 'node:module';
import { type Libc, MAPPING } from './libc.ts';

const require = createRequire(import.meta.url);

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
export interface KoffiLibc extends Pick<Libc, 'name' | 'map' | 'chmod'> {
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
    name: 'koffi',
    declare: (...declaration) => libc.func(...declaration),
    errno: () => koffi.errno(),
    map: (memory, file, bytes) =>
      Number(mmap(new Uint8Array(memory), bytes, protection, flags, file, 0)) !== -1,
    chmod: (file, mode) => fchmod(file, mode),
  };
}
