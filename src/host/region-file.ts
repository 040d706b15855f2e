import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
} from 'node:fs';
import { basename } from 'node:path';
import { HandleError, type HandleErrorCode } from '../errors.ts';
import {
  BOOT_BYTES,
  REGION,
  REGION_FILE,
  REGION_HEADER_BYTES,
  REGION_MAGIC,
  REGION_VERSION,
} from '../memory/layout.ts';
import type { Libc } from './libc.ts';
import { thisMachine } from './machine.ts';
import { errorName } from './native.ts';

const FOLDER = '/dev/shm';

/** An open file, and what the system says of it. */
export interface RegionFile {
  readonly path: string;
  readonly descriptor: number;
  /** The same for every open descriptor of the file. */
  readonly identity: string;
}

/** A name without a slash is that of a file in `/dev/shm`. */
export function pathOf(path: string): string {
  return basename(path) === path ? `${FOLDER}/${path}` : path;
}

function fail(code: HandleErrorCode, path: string, message: string, cause?: unknown): HandleError {
  return new HandleError(code, `${path} ${message}`, cause === undefined ? {} : { cause });
}

/** Who may own the file, and whether to create it. */
interface Wanted {
  readonly owner: number | undefined;
  readonly mode: number;
  readonly isCreated: boolean;
}

/** Opens the file of a region, and never follows a symbolic link to another. */
export function openFile(path: string, { owner, mode, isCreated }: Wanted): RegionFile {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  let descriptor: number;
  try {
    const flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | (isCreated ? O_CREAT : 0);
    // Nobody else may open it before its mode is set.
    descriptor = openSync(path, flags, mode & 0o600);
  } catch (cause) {
    throw refusal(path, cause as NodeJS.ErrnoException);
  }
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

/** The header of a region, as it is in the file. */
function readHeader(descriptor: number): DataView {
  const bytes = new Uint8Array(REGION_HEADER_BYTES);
  readSync(descriptor, bytes, 0, REGION_HEADER_BYTES, 0);
  return new DataView(bytes.buffer);
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/**
 * The size of the region in a file, after checks; undefined if the file is new, or whoever made it
 * ended before it was complete. Hold the file's lock.
 */
export function checkRegion({ path, descriptor }: RegionFile): number | undefined {
  const { size } = fstatSync(descriptor);
  if (size === 0) return undefined;
  const header = readHeader(descriptor);
  const field = (index: number) => header.getUint32(4 * index, LITTLE_ENDIAN);
  const invalid = (message: string) => fail('ERR_REGION_INVALID', path, message);
  const version = field(REGION.version);
  // The magic number is written last.
  const isUnfinished = field(REGION.magic) === 0 && [0, REGION_VERSION].includes(version);
  if (isUnfinished && [0, size].includes(field(REGION.bytes))) return undefined;
  if (field(REGION.magic) !== REGION_MAGIC) throw invalid('holds no region of zerotime');
  if (version !== REGION_VERSION) {
    throw invalid(`has format version ${version}, this is version ${REGION_VERSION}`);
  }
  const bytes = field(REGION.bytes);
  if (bytes !== size) throw invalid(`was cut: it has ${size} of ${bytes} bytes`);
  const { boot, timeSpace } = thisMachine();
  const stale = (message: string) => fail('ERR_HOST_STALE', path, message);
  const made = new Uint8Array(header.buffer, REGION_FILE.boot, BOOT_BYTES);
  if (!made.every((byte, i) => byte === boot[i])) {
    throw stale('was made before the last start of this machine, or on another: remove it');
  }
  if (header.getFloat64(REGION_FILE.timeSpace, LITTLE_ENDIAN) !== timeSpace) {
    throw stale('was made in another time namespace, whose clock is another one');
  }
  return bytes;
}

/** Allocates all of a file. Hold the file's lock. */
export function allocateFile(file: RegionFile, libc: Libc, bytes: number, mode: number): void {
  const { path, descriptor } = file;
  ftruncateSync(descriptor, 0);
  const failure = libc.allocate(descriptor, bytes);
  if (failure !== 0) {
    ftruncateSync(descriptor, 0);
    throw fail('ERR_HOST_FULL', path, `cannot get ${bytes} bytes: ${errorName(failure)}`);
  }
  fchmodSync(descriptor, mode);
}
