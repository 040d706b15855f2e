import { fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { HandleError } from '../errors.ts';
import {
  BOOT_BYTES,
  LINE_BYTES,
  PROCESS,
  PROCESS_BYTES,
  PROCESS_COUNT,
  PROCESSES_BYTES,
  REGION,
  REGION_FILE,
  REGION_HEADER_BYTES,
  REGION_MAGIC,
  REGION_UNFINISHED,
  REGION_VERSION,
} from '../memory/layout.ts';
import { PAGE_BYTES } from '../memory/shared-memory.ts';
import { CREATING, ENTRIES, FileLocks } from './file-locks.ts';
import { DEFAULT_BYTES } from './host-options.ts';
import type { Libc } from './libc.ts';
import { errorName, loadLibc, platform } from './native.ts';
import type { Machine } from './platform.ts';
import {
  EXISTING,
  fail,
  isInPlace,
  MOST_TRIES,
  openFile,
  pathOf,
  type RegionFile,
  reasonOf,
  removeFile,
  type Wanted,
} from './region-file.ts';
import { beginTime, continueTime } from './region-time.ts';

/** Bytes allocated in one call, which a signal, such as a profiler's, may interrupt. */
const STEP_BYTES = 1_048_576;
const MOST_INTERRUPTIONS = 1000;
const MAGIC_BYTES = 4;
/** The id of the machine's start and the time namespace, side by side. */
const START_BYTES = BOOT_BYTES + 8;

let known: Machine | undefined;

/** @throws HandleError `ERR_HOST_UNSUPPORTED` */
function thisMachine(): Machine {
  known ??= platform.findMachine();
  return known;
}

/** The header of a region in a file, and views of it. */
class Header {
  readonly bytes = new Uint8Array(REGION_HEADER_BYTES);
  readonly i32 = new Int32Array(this.bytes.buffer);
  readonly f64 = new Float64Array(this.bytes.buffer);
  readonly boot = new Uint8Array(this.bytes.buffer, REGION_FILE.boot, BOOT_BYTES);

  /** The header in a file; undefined if that is empty. */
  static read({ path, descriptor }: RegionFile): Header | undefined {
    const header = new Header();
    try {
      const read = readSync(descriptor, header.bytes, 0, REGION_HEADER_BYTES, 0);
      return read === 0 ? undefined : header;
    } catch (cause) {
      throw fail('ERR_HOST_DENIED', path, `cannot be read: ${reasonOf(cause)}`, cause);
    }
  }

  /** Whether the file holds a region, of any version. */
  get hasMagic(): boolean {
    return this.i32[REGION.magic] === REGION_MAGIC;
  }

  /** Whether the region was never completed. */
  get isUnfinished(): boolean {
    return this.i32[REGION.magic] === REGION_UNFINISHED;
  }

  /** The size of the file. */
  get size(): number {
    return this.i32[REGION.bytes] ?? 0;
  }

  /** The offset of the entries of processes. */
  get processes(): number {
    return this.i32[REGION.processes] ?? 0;
  }

  /** Whether the entries of processes are within the file. */
  get hasProcesses(): boolean {
    const { processes, size } = this;
    const isLine = processes >= REGION_HEADER_BYTES && processes % LINE_BYTES === 0;
    return isLine && processes + PROCESSES_BYTES <= size;
  }

  get isOfThisBoot(): boolean {
    const { boot } = thisMachine();
    return this.boot.every((byte, i) => byte === boot[i]);
  }

  /** Writes down that the region is of this start of the machine. */
  setMachine(): void {
    const { boot, timeNamespace } = thisMachine();
    this.boot.set(boot);
    this.f64[REGION_FILE.timeNamespace >> 3] = timeNamespace;
  }
}

/** Returns the header of the region in a file; undefined if it is empty, or incomplete. */
function readHeader(file: RegionFile): Header | undefined {
  const header = Header.read(file);
  if (header === undefined || header.isUnfinished) return undefined;
  const { i32, size: bytes } = header;
  const invalid = (message: string) => fail('ERR_REGION_INVALID', file.path, message);
  if (!header.hasMagic) throw invalid('holds no zerotime region');
  const version = i32[REGION.version];
  if (version !== REGION_VERSION) {
    throw invalid(`has format version ${version}, this is version ${REGION_VERSION}`);
  }
  // Check after the header, which is complete only once the file has its size.
  const { size } = fstatSync(file.descriptor);
  if (bytes !== size) throw invalid(`was cut: it has ${size} of ${bytes} bytes`);
  if (bytes % PAGE_BYTES !== 0) {
    throw invalid(`has ${bytes} bytes, not a multiple of ${PAGE_BYTES}`);
  }
  if (!header.hasProcesses) {
    throw fail('ERR_REGION_DAMAGED', file.path, 'has no room for its processes');
  }
  return header;
}

/**
 * Checks the region in a file and returns its size; undefined if the file is empty or the region is
 * incomplete.
 */
export function checkRegion(file: RegionFile): number | undefined {
  const header = readHeader(file);
  if (header === undefined) return undefined;
  if (!header.isOfThisBoot) {
    throw stale(
      file,
      "was created before this machine's last start, or on another machine: remove it, or open it " +
        "with afterReboot: 'keep'",
    );
  }
  if (header.f64[REGION_FILE.timeNamespace >> 3] !== thisMachine().timeNamespace) {
    throw stale(file, 'was created in another time namespace, which has another clock');
  }
  return header.size;
}

function stale({ path }: RegionFile, message: string): HandleError {
  return fail('ERR_HOST_STALE', path, message);
}

/**
 * Returns the size of the region in a file; creates the region first if no process has.
 *
 * @throws HandleError
 */
export function findOrCreate(locks: FileLocks, wanted: Wanted): number {
  const { file } = locks;
  if (wanted.isKept && readHeader(file)?.isOfThisBoot === false) locks.hold(() => takeOver(locks));
  // Checked without the lock, so that a stopped process cannot block those that come later.
  return checkRegion(file) ?? locks.hold(() => create(locks, wanted));
}

/** Lets a region go on after a restart of the machine, unless another process has done so. */
function takeOver(locks: FileLocks): void {
  const { file } = locks;
  const header = readHeader(file);
  if (header?.isOfThisBoot !== false) return;
  // With the locks of all its processes: those that come later find the new start's id, and thus the
  // new time. What processes of the earlier start held comes back as from any that have ended.
  if (!locks.take(1, PROCESS_COUNT)) {
    throw stale(file, 'is open in a process of another machine, or of another boot');
  }
  try {
    continueTime(file, header.processes);
    header.setMachine();
    // Last, and in one piece. If the process is killed before, the next one begins again.
    writeSync(file.descriptor, header.bytes, REGION_FILE.boot, START_BYTES, REGION_FILE.boot);
  } finally {
    locks.release(1, PROCESS_COUNT);
  }
}

function create({ file, libc }: FileLocks, wanted: Wanted): number {
  const { isCreated, mode, bytes = DEFAULT_BYTES } = wanted;
  const found = checkRegion(file);
  if (found !== undefined) return found;
  if (!isCreated) throw fail('ERR_REGION_INVALID', file.path, 'holds no region yet');
  createRegion(file, libc, bytes, mode);
  return bytes;
}

/** Removes a file that was created in vain, unless another process creates a region in it. */
export function discard(locks: FileLocks): void {
  const { file } = locks;
  let isFree = true;
  try {
    isFree = locks.take(CREATING);
  } catch {
    // Nobody can use a file that cannot be locked.
  }
  if (isFree && isUnfinished(file) && isInPlace(file)) removeFile(file);
}

/** Whether a file is empty, or holds a region that was never completed. */
function isUnfinished(file: RegionFile): boolean {
  return Header.read(file)?.isUnfinished ?? true;
}

/**
 * Creates an empty region in a file that {@link checkRegion} found incomplete. Hold the file's
 * lock.
 */
export function createRegion(file: RegionFile, libc: Libc, bytes: number, mode: number): void {
  const { descriptor } = file;
  const header = new Header();
  header.i32[REGION.magic] = REGION_UNFINISHED;
  header.i32[REGION.version] = REGION_VERSION;
  header.i32[REGION.used] = REGION_HEADER_BYTES + PROCESSES_BYTES;
  header.i32[REGION.processes] = REGION_HEADER_BYTES;
  header.i32[REGION.bytes] = bytes;
  header.i32[REGION.id] = Math.floor(Math.random() * 2 ** 31);
  header.setMachine();
  allocate(file, libc, bytes, header.bytes);
  beginTime(file, REGION_HEADER_BYTES);
  if (libc.chmod(descriptor, mode) !== 0) {
    throw fail('ERR_HOST_UNSUPPORTED', file.path, `cannot have the mode 0o${mode.toString(8)}`);
  }
  header.i32[REGION.magic] = REGION_MAGIC;
  // Write the magic number last: a file without it is created anew.
  writeSync(descriptor, header.bytes, 0, MAGIC_BYTES, 0);
}

/** Allocates the whole file, so that no page is missing later. */
function allocate(file: RegionFile, libc: Libc, bytes: number, header: Uint8Array): void {
  const { path, descriptor } = file;
  const full = (reason: string, cause?: unknown) => {
    ftruncateSync(descriptor, 0);
    return fail('ERR_HOST_FULL', path, `cannot get ${bytes} bytes: ${reason}`, cause);
  };
  ftruncateSync(descriptor, 0);
  try {
    // Write before the file grows, so that a file of zeros is not taken for an incomplete region.
    writeSync(descriptor, header, 0, header.length, 0);
  } catch (cause) {
    throw full(reasonOf(cause), cause);
  }
  let interruptions = 0;
  for (let at = 0; at < bytes; ) {
    const step = Math.min(STEP_BYTES, bytes - at);
    const failure = libc.allocate(descriptor, at, step);
    if (failure === 0) at += step;
    else if (failure !== constants.errno.EINTR || ++interruptions > MOST_INTERRUPTIONS) {
      throw full(errorName(failure));
    }
  }
}

/**
 * Removes the file of a region, even one that cannot be opened, such as a stale or incomplete one.
 *
 * @throws HandleError `ERR_HOST_BUSY` if processes have it open, unless `isForced`;
 * `ERR_REGION_INVALID` if the file holds something else; `ERR_HOST_DENIED` if it must not be removed.
 */
export function removeRegion(path: string, removal: Removal): void {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (tryRemoval(pathOf(path), removal)) return;
  }
  throw fail('ERR_HOST_BUSY', pathOf(path), 'is replaced each time it is opened');
}

interface Removal {
  readonly isForced: boolean;
  /** The user that owns the file. Default: this process's. */
  readonly owner?: number | undefined;
}

/** Returns false if the file was removed or replaced meanwhile. */
function tryRemoval(path: string, { isForced, owner }: Removal): boolean {
  const file = openFile(path, { ...EXISTING, owner });
  try {
    const header = Header.read(file);
    const isRegion = header === undefined || header.isUnfinished || header.hasMagic;
    if (!isRegion) throw fail('ERR_REGION_INVALID', path, 'holds no zerotime region');
    if (!isForced) takeAll(file);
    if (!isInPlace(file)) return false;
    removeFile(file);
    return true;
  } finally {
    file.close();
  }
}

/** Takes all locks of a region, so that no process can open it. */
function takeAll(file: RegionFile): void {
  const locks = new FileLocks(loadLibc(), file);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (locks.take(CREATING, PROCESS_COUNT + 1)) return;
    if (locks.isTaken(CREATING)) {
      throw fail('ERR_HOST_BUSY', file.path, 'is being created or removed: try again');
    }
    const users = usersOf(locks);
    if (users.length === 0) continue; // they have just ended
    const pids = users.filter((pid) => pid !== 0).join(', ');
    // A process has its entry's lock before and after the entry has its pid.
    if (pids === '') break;
    const message = `is open in process ${pids}: end it first, or use --force`;
    throw fail('ERR_HOST_BUSY', file.path, message);
  }
  throw fail('ERR_HOST_BUSY', file.path, 'is being opened or closed: try again');
}

/** The pids of the processes that have a region open, by their locks; 0 where none is written. */
function usersOf(locks: FileLocks): number[] {
  const { file } = locks;
  const taken = ENTRIES.filter((entry) => locks.isTaken(entry));
  const start = Header.read(file)?.processes ?? 0;
  return taken.map((entry) => {
    const pid = new Int32Array(1);
    const at = start + entry * PROCESS_BYTES + PROCESS.pid;
    if (at >= 0) readSync(file.descriptor, pid, 0, pid.byteLength, at);
    return pid[0] ?? 0;
  });
}
