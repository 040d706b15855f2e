import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { HandleError, type HandleErrorCode } from '../errors.ts';
import { platform } from './this-platform.ts';

/** Others may create and remove the file again and again. */
const MOST_TRIES = 100;

/** An open file, and what the system says of it. */
export interface RegionFile {
  readonly path: string;
  readonly descriptor: number;
  /** The same for every open descriptor of the file. */
  readonly identity: string;
}

/** A name without a slash is that of a file in the platform's folder. Absolute, since handles travel. */
export function pathOf(path: string): string {
  return basename(path) === path ? `${platform.folder}/${path}` : resolve(path);
}

/** An error about a file, whose path precedes the message. */
export function fail(
  code: HandleErrorCode,
  path: string,
  message: string,
  cause?: unknown,
): HandleError {
  return new HandleError(code, `${path} ${message}`, cause === undefined ? {} : { cause });
}

/** Who may own the file, and whether to create it. */
export interface Wanted {
  readonly owner: number | undefined;
  readonly mode: number;
  readonly isCreated: boolean;
}

/** Opens the file of a region, and never follows a symbolic link to another. */
export function openFile(path: string, { owner, mode, isCreated }: Wanted): RegionFile {
  const descriptor = isCreated ? openOrCreate(path, mode) : openSafely(path);
  try {
    const { dev, ino, uid } = checkFile(path, descriptor);
    const wanted = owner ?? process.geteuid?.();
    if (uid === wanted) return { path, descriptor, identity: `${dev}:${ino}` };
    throw fail(
      'ERR_HOST_DENIED',
      path,
      `belongs to user ${uid}, not ${wanted}: name a user that you trust as owner`,
    );
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/**
 * With O_CREAT alone, Linux may refuse to open a file of another user in `/dev/shm`: see
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
      // Nobody else may open it before its mode is set.
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
