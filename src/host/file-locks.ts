import type { Libc } from './libc.ts';

// Locks of open file descriptions, as in fcntl(2): the system ends them with the process, however
// that ends, and across containers. Each lock is one byte far beyond the end of the file.

const SET_LOCK = 37; // F_OFD_SETLK
const GET_LOCK = 36; // F_OFD_GETLK
const EXCLUSIVE = 1; // F_WRLCK
const NONE = 2; // F_UNLCK
const FIRST_BYTE = 2n ** 40n;

/** Numbers from 0 on that one open file at a time can have. */
export class FileLocks {
  readonly #libc: Libc;
  readonly #file: number;
  /** A `struct flock`: type i16, whence i16, start i64, length i64, pid i32. */
  readonly #flock = new Uint8Array(32);
  readonly #view = new DataView(this.#flock.buffer);

  constructor(libc: Libc, file: number) {
    this.#libc = libc;
    this.#file = file;
  }

  #call(command: number, type: number, number: number): number {
    const view = this.#view;
    this.#flock.fill(0);
    view.setInt16(0, type, LITTLE_ENDIAN);
    view.setBigInt64(8, FIRST_BYTE + BigInt(number), LITTLE_ENDIAN);
    view.setBigInt64(16, 1n, LITTLE_ENDIAN);
    return this.#libc.lock(this.#file, command, this.#flock);
  }

  /** Takes a number; false if another open file has it. */
  take(number: number): boolean {
    return this.#call(SET_LOCK, EXCLUSIVE, number) === 0;
  }

  release(number: number): void {
    this.#call(SET_LOCK, NONE, number);
  }

  /** Whether another open file has a number. */
  isTaken(number: number): boolean {
    const failed = this.#call(GET_LOCK, EXCLUSIVE, number) !== 0;
    return !failed && this.#view.getInt16(0, LITTLE_ENDIAN) !== NONE;
  }
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
