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
export const MAPPING = { protection: 3, flags: 0x11 } as const;
