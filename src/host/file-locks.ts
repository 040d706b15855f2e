import type { Libc } from './libc.ts';
import { fail, type RegionFile } from './region-file.ts';
import { platform } from './this-platform.ts';

// Open file description locks, as in fcntl(2): the system releases them when the process ends in
// any way, and they work across containers. Each lock is one byte far beyond the end of the file.

const { lock: LOCK } = platform;
const FIRST_BYTE = 2n ** 40n;

/** Another open file may release a number between two calls. */
const MOST_TRIES = 100;

type LockedFile = Pick<RegionFile, 'path' | 'descriptor'>;

/** Numbers from 0 on, each of which one open file at a time can hold. */
export class FileLocks {
  readonly #libc: Libc;
  readonly #file: LockedFile;
  /** A `struct flock`. */
  readonly #flock = new Uint8Array(LOCK.bytes);
  readonly #view = new DataView(this.#flock.buffer);

  constructor(libc: Libc, file: LockedFile) {
    this.#libc = libc;
    this.#file = file;
  }

  /** Returns whether the call succeeded. */
  #call(command: number, type: number, first: number, count = 1): boolean {
    const view = this.#view;
    this.#flock.fill(0);
    view.setInt16(LOCK.type, type, LITTLE_ENDIAN);
    view.setBigInt64(LOCK.start, FIRST_BYTE + BigInt(first), LITTLE_ENDIAN);
    view.setBigInt64(LOCK.length, BigInt(count), LITTLE_ENDIAN);
    return this.#libc.lock(this.#file.descriptor, command, this.#flock) === 0;
  }

  /**
   * Takes consecutive numbers, all or none; false if another open file holds one of them.
   *
   * @throws HandleError `ERR_HOST_UNSUPPORTED` if the file cannot be locked.
   */
  take(first: number, count = 1): boolean {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      if (this.#call(LOCK.set, LOCK.exclusive, first, count)) return true;
      // If no one holds it, the system refuses the lock, so waiting for another process would never
      // end.
      if (this.isTaken(first, count)) return false;
    }
    throw this.#refused();
  }

  release(first: number, count = 1): void {
    this.#call(LOCK.set, LOCK.none, first, count);
  }

  /**
   * Whether another open file holds one of these numbers.
   *
   * @throws HandleError `ERR_HOST_UNSUPPORTED` if the file cannot be locked.
   */
  isTaken(first: number, count = 1): boolean {
    if (!this.#call(LOCK.get, LOCK.exclusive, first, count)) throw this.#refused();
    return this.#view.getInt16(LOCK.type, LITTLE_ENDIAN) !== LOCK.none;
  }

  #refused(): Error {
    const message = 'cannot be locked: its file system, or a sandbox, refuses F_OFD_SETLK';
    return fail('ERR_HOST_UNSUPPORTED', this.#file.path, message);
  }
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
