import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { HandleError, type HandleErrorCode } from '../errors.ts';
import { platform } from './this-platform.ts';

/** Others may create and remove the file repeatedly. */
const MOST_TRIES = 100;

/** An open file and its properties. */
export interface RegionFile {
  readonly path: string;
  readonly descriptor: number;
  /** The same for every open descriptor of the file. */
  readonly identity: string;
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

/** The file's expected owner, and whether to create it. */
export interface Wanted {
  readonly owner: number | undefined;
  readonly mode: number;
  readonly isCreated: boolean;
}

/** Opens the file of a region. Never follows a symbolic link. */
export function openFile(path: string, { owner, mode, isCreated }: Wanted): RegionFile {
  const descriptor = isCreated ? openOrCreate(path, mode) : openSafely(path);
  try {
    const { dev, ino, uid } = checkFile(path, descriptor);
    const wanted = owner ?? process.geteuid?.();
    if (uid === wanted) return { path, descriptor, identity: `${dev}:${ino}` };
    throw fail(
      'ERR_HOST_DENIED',
      path,
      `belongs to user ${uid}, not ${wanted}: set owner to a user that you trust`,
    );
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/**
 * Linux may refuse to open another user's file in `/dev/shm` with O_CREAT alone: see
 * `protected_regular` in proc_sys_fs(5).
 */
function openOrCreate(path: string, mode: number): number {
  for (let tries = 1; ; tries++) {
    try {
      return openSafely(path);
    } catch (error) {
      if (!isCausedBy(error, 'ENOENT')) throw error;
    }
    try {
      // No one else may open it before its mode is set.
      return openSafely(path, constants.O_CREAT | constants.O_EXCL, mode & 0o600);
    } catch (error) {
      if (!isCausedBy(error, 'EEXIST') || tries === MOST_TRIES) throw error;
    }
  }
}

function openSafely(path: string, more = 0, mode?: number): number {
  const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | more, mode);
  } catch (cause) {
    throw refusal(path, cause as NodeJS.ErrnoException);
  }
}

function isCausedBy(error: unknown, code: string): boolean {
  return ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === code;
}

function checkFile(path: string, descriptor: number) {
  const stats = fstatSync(descriptor);
  if (stats.isFile()) return stats;
  throw fail('ERR_HOST_DENIED', path, 'is not a regular file');
}

function refusal(path: string, cause: NodeJS.ErrnoException): HandleError {
  const { code } = cause;
  const denied = (message: string) => fail('ERR_HOST_DENIED', path, message, cause);
  if (code === 'ENOENT') return fail('ERR_REGION_INVALID', path, 'does not exist', cause);
  if (code === 'ENOSPC') return fail('ERR_HOST_FULL', path, 'has no room in its folder', cause);
  if (code === 'ELOOP') return denied('is a symbolic link');
  if (code === 'EISDIR') return denied('is a folder');
  if (code === 'ERR_ACCESS_DENIED') return denied('is outside what --allow-fs-write permits');
  return denied(`cannot be opened: ${code ?? cause.message}`);
}
