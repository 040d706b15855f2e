import { closeSync, constants, fstatSync, lstatSync, openSync, unlinkSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { HandleError, type HandleErrorCode } from '../errors.ts';
import { platform } from './native.ts';

/** Others may create and remove the file repeatedly. */
export const MOST_TRIES = 100;

const { O_RDWR, O_NOFOLLOW, O_NONBLOCK, O_DSYNC } = constants;
/** Headers reach the disk as they are written: the permission model forbids fsync. */
export const OPEN_FLAGS = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_DSYNC;

/** An open file and its properties. */
export interface RegionFile {
  readonly path: string;
  readonly descriptor: number;
  /** The same for every open descriptor of the file. */
  readonly identity: string;
  /** Whether it was created when it was opened. */
  readonly isNew: boolean;
  /** Closes the descriptor, which releases its locks. Does nothing if it is closed. */
  close(): void;
}

/**
 * A name without a slash is in the platform's folder. Absolute, because handles are sent elsewhere.
 */
export function pathOf(path: string): string {
  return basename(path) === path ? `${platform.folder}/${path}` : resolve(path);
}

/** Creates an error about a file: its path precedes the message. */
export function fail(
  code: HandleErrorCode,
  path: string,
  message: string,
  cause?: unknown,
): HandleError {
  return new HandleError(code, `${path} ${message}`, cause === undefined ? {} : { cause });
}

/** The code of an error of the file system; its message if it has none. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

/**
 * The file's expected owner and size, whether to create it, and whether it may be of an earlier
 * boot.
 */
export interface Wanted {
  readonly owner: number | undefined;
  readonly mode: number;
  readonly isCreated: boolean;
  readonly isKept: boolean;
  /** Undefined for any size, and the default for a new file. */
  readonly bytes?: number | undefined;
}

/** An existing file of this process's user. */
export const EXISTING: Wanted = { owner: undefined, mode: 0, isCreated: false, isKept: false };

/**
 * Opens the file of a region. Never follows a symbolic link, and never creates a file for another
 * user: it would be this process's, and in the way of that user.
 */
export function openFile(path: string, { owner, mode, isCreated }: Wanted): RegionFile {
  const user = process.geteuid?.();
  const wanted = owner ?? user;
  const { descriptor, isNew } =
    isCreated && wanted === user
      ? openOrCreate(path, mode)
      : { descriptor: openSafely(path), isNew: false };
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw fail('ERR_HOST_DENIED', path, 'is not a regular file');
    const { uid } = stats;
    if (uid === wanted) return { path, descriptor, identity: identityOf(stats), isNew, close };
    throw fail(
      'ERR_HOST_DENIED',
      path,
      `belongs to user ${uid}, not ${wanted}: set owner to a user that you trust`,
    );
  } catch (error) {
    close();
    throw error;
  }
}

function identityOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}

/** Whether a descriptor is of the same file. */
export function isOpenIn({ identity }: RegionFile, descriptor: number): boolean {
  return identityOf(fstatSync(descriptor)) === identity;
}

/** Whether the path of an open file still leads to it: others may have removed or replaced it. */
export function isInPlace({ path, identity }: RegionFile): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && identityOf(stats) === identity;
}

/** @throws HandleError `ERR_HOST_DENIED`, such as in a sticky folder if the file is another user's. */
export function removeFile({ path }: RegionFile): void {
  try {
    unlinkSync(path);
  } catch (cause) {
    throw fail('ERR_HOST_DENIED', path, `cannot be removed: ${reasonOf(cause)}`, cause);
  }
}

/**
 * Linux may refuse to open another user's file in `/dev/shm` with O_CREAT alone: see
 * `protected_regular` in proc_sys_fs(5).
 */
function openOrCreate(path: string, mode: number): { descriptor: number; isNew: boolean } {
  for (let tries = 1; ; tries++) {
    try {
      return { descriptor: openSafely(path), isNew: false };
    } catch (error) {
      if (!isCausedBy(error, 'ENOENT')) throw error;
    }
    try {
      // No one else may open it before its mode is set.
      const descriptor = openSafely(path, constants.O_CREAT | constants.O_EXCL, mode & 0o600);
      return { descriptor, isNew: true };
    } catch (error) {
      if (!isCausedBy(error, 'EEXIST') || tries === MOST_TRIES) throw error;
    }
  }
}

function openSafely(path: string, more = 0, mode?: number): number {
  try {
    return openSync(path, OPEN_FLAGS | more, mode);
  } catch (cause) {
    throw refusal(path, cause as NodeJS.ErrnoException, more !== 0);
  }
}

function isCausedBy(error: unknown, code: string): boolean {
  return ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === code;
}

type Refusal = NodeJS.ErrnoException & { readonly permission?: string };

function refusal(path: string, cause: Refusal, isCreated: boolean): HandleError {
  const { code, permission } = cause;
  const denied = (message: string) => fail('ERR_HOST_DENIED', path, message, cause);
  if (code === 'ENOENT') {
    if (isCreated) return denied('cannot be created: its folder does not exist');
    return fail('ERR_REGION_INVALID', path, 'does not exist', cause);
  }
  if (code === 'ENOSPC') return fail('ERR_HOST_FULL', path, 'has no room in its folder', cause);
  if (code === 'ELOOP') return denied('is a symbolic link');
  if (code === 'EISDIR') return denied('is a folder');
  if (code === 'ERR_ACCESS_DENIED') {
    const flag = permission === 'FileSystemRead' ? '--allow-fs-read' : '--allow-fs-write';
    return denied(`is outside what ${flag} permits`);
  }
  return denied(`cannot be opened: ${reasonOf(cause)}`);
}
