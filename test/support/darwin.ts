import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { openKoffi } from '../../src/host/libc.ts';
import { linux } from '../../src/host/platform.ts';

type Call = (...args: unknown[]) => number;

const require = createRequire(import.meta.url);

/** As in Apple's headers. */
const F_PREALLOCATE = 42;
const F_OFD_SETLK = 90;
const F_OFD_GETLK = 92;
const LOCK_TYPES = { unlock: 2, write: 3 } as const;

/** koffi as it would be on a Mac whose system is that of this machine underneath. */
export class DarwinKoffi {
  /** The functions that were declared, with their parameters. */
  readonly declared = new Map<string, readonly string[]>();
  /** What `fcntl` was called with. */
  readonly calls: { readonly command: number; readonly struct: readonly number[] }[] = [];
  boot = '6A1E5B4C-0D2F-4E3A-9B8C-7D6E5F4A3B2C';
  hidesBoot = false;
  /** The number of the error of allocations. */
  allocationError = 0;
  #errno = 0;
  readonly #real = require('koffi').load(null);
  readonly #libc = linux.libcOf(openKoffi());

  errno(): number {
    return this.#errno;
  }

  load() {
    return {
      func: (name: string, result: string, parameters: readonly string[]): Call => {
        this.declared.set(name, parameters);
        if (name === 'fcntl') return (...args) => this.#fcntl(...(args as FcntlArguments));
        if (name === 'sysctlbyname') return (...args) => this.#sysctl(...(args as SysctlArguments));
        return this.#real.func(name, result, parameters);
      },
    };
  }

  #fcntl(file: number, command: number, type: string, struct: Uint8Array): number {
    if (type !== 'void *') throw new TypeError(`fcntl takes a pointer, got ${type}`);
    this.calls.push({ command, struct: [...struct] });
    if (command === F_PREALLOCATE) {
      this.#errno = this.allocationError;
      return this.#errno === 0 ? 0 : -1;
    }
    if (command !== F_OFD_SETLK && command !== F_OFD_GETLK) {
      this.#errno = constants.errno.EINVAL;
      return -1;
    }
    return this.#lock(file, command, new DataView(struct.buffer));
  }

  /** `struct flock` of macOS: start and length, i64; process, i32; type and whence, i16. */
  #lock(file: number, command: number, flock: DataView): number {
    const { lock } = linux;
    const bytes = new Uint8Array(lock.bytes);
    const view = new DataView(bytes.buffer);
    const isLocked = flock.getInt16(20, true) === LOCK_TYPES.write;
    view.setInt16(lock.type, isLocked ? lock.exclusive : lock.none, true);
    view.setBigInt64(lock.start, flock.getBigInt64(0, true), true);
    view.setBigInt64(lock.length, flock.getBigInt64(8, true), true);
    const result = this.#libc.lock(file, command === F_OFD_SETLK ? lock.set : lock.get, bytes);
    const isFree = view.getInt16(lock.type, true) === lock.none;
    flock.setInt16(20, isFree ? LOCK_TYPES.unlock : LOCK_TYPES.write, true);
    return result;
  }

  #sysctl(name: string, into: Uint8Array, length: BigUint64Array): number {
    const isKnown = name === 'kern.bootsessionuuid' && !this.hidesBoot;
    if (!isKnown || length[0] !== BigInt(into.length)) {
      this.#errno = constants.errno.ENOENT;
      return -1;
    }
    into.set(Buffer.from(`${this.boot}\0`));
    return 0;
  }
}

type FcntlArguments = [file: number, command: number, type: string, struct: Uint8Array];
type SysctlArguments = [name: string, into: Uint8Array, length: BigUint64Array];
