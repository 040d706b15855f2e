import { HandleError } from '../errors.ts';
import { PROCESS_COUNT } from '../memory/layout.ts';
import { timers } from '../memory/runtime.ts';
import type { Libc } from './libc.ts';
import { platform } from './native.ts';
import { fail, MOST_TRIES, type RegionFile } from './region-file.ts';

// Open file description locks, as in fcntl(2): the system releases them when the process ends in
// any way, and they work across containers. Each lock is one byte far beyond the end of the file.
//
// The locks of a region's file: one to create or remove the region, one for each process that has it
// open, and one to change its limits from outside the program. A process takes its own lock and then
// looks at the path again; another removes the file only while it holds all locks. So no process ends
// up in a removed file.

/** The lock held while a region is created or removed. */
export const CREATING = 0;
/** The entries of processes: each has the lock of its number. */
export const ENTRIES: readonly number[] = Array.from({ length: PROCESS_COUNT }, (_, i) => i + 1);
/** The lock held while an operator changes a limit. */
export const OPERATING = PROCESS_COUNT + 1;
const TIMEOUT_MS = 10_000;

const { lock: LOCK } = platform;
const FIRST_BYTE = 2n ** 40n;
const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** A region's open file and its locks: numbers from 0 on, which one open file at a time can hold. */
export class FileLocks {
  readonly libc: Libc;
  readonly file: RegionFile;
  /** A `struct flock`. */
  readonly #flock = new Uint8Array(LOCK.bytes);
  readonly #view = new DataView(this.#flock.buffer);

  constructor(libc: Libc, file: RegionFile) {
    this.libc = libc;
    this.file = file;
  }

  /** Returns whether the call succeeded. */
  #call(command: number, type: number, first: number, count: number): boolean {
    const view = this.#view;
    this.#flock.fill(0);
    view.setInt16(LOCK.type, type, LITTLE_ENDIAN);
    view.setBigInt64(LOCK.start, FIRST_BYTE + BigInt(first), LITTLE_ENDIAN);
    view.setBigInt64(LOCK.length, BigInt(count), LITTLE_ENDIAN);
    return this.libc.lock(this.file.descriptor, command, this.#flock) === 0;
  }

  /**
   * Takes consecutive numbers, all or none; false if another open file holds one of them.
   *
   * @throws HandleError `ERR_HOST_UNSUPPORTED` if the file cannot be locked.
   */
  take(first: number, count = 1): boolean {
    // Another open file may release a number between two calls.
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
    return fail('ERR_HOST_UNSUPPORTED', this.file.path, message);
  }

  /**
   * Runs `action` while no other process creates or removes the region, or holds the given lock.
   *
   * @throws HandleError `ERR_HOST_BUSY` if another process holds it for 10 seconds.
   */
  hold<T>(action: () => T, lock: typeof CREATING | typeof OPERATING = CREATING): T {
    const giveUpAtMs = timers.nowMs() + TIMEOUT_MS;
    const pause = new Int32Array(new SharedArrayBuffer(4));
    while (!this.take(lock)) {
      if (timers.nowMs() > giveUpAtMs) {
        const work = lock === CREATING ? 'created or removed' : 'changed';
        const message = `is being ${work} by a process that stands still`;
        throw fail('ERR_HOST_BUSY', this.file.path, message);
      }
      Atomics.wait(pause, 0, 0, 1);
    }
    try {
      return action();
    } finally {
      this.release(lock);
    }
  }
  /**
   * Takes the lock of a free entry.
   *
   * @throws HandleError `ERR_HOST_BUSY` if no entry is free.
   */
  claimEntry(): number {
    const claim = () => ENTRIES.find((entry) => this.take(entry));
    // A process that removes the file holds all locks for a moment.
    const entry = claim() ?? this.hold(claim);
    if (entry !== undefined) return entry;
    throw new HandleError(
      'ERR_HOST_BUSY',
      `the region is open in ${PROCESS_COUNT} processes and threads, the maximum`,
    );
  }
}
