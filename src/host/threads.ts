import { closeSync } from 'node:fs';
import { isMainThread, Worker } from 'node:worker_threads';
import { type Load, startThread } from '../time/background-thread.ts';
import { fail, isOpenIn, OPEN_FLAGS, type RegionFile } from './region-file.ts';

// Node.js closes the descriptors that a worker opened when the worker ends, which releases their
// locks, unless the worker was started with `trackUnmanagedFds: false`. Such a worker starts a
// thread of its own, the keeper, to open the file for it: a keeper ends with its worker, and
// Node.js closes its descriptors.

/** Indexes of the words that a worker and its keeper share. */
const WORD = { state: 0, descriptor: 1, count: 2 } as const;
const STATE = { starting: 0, open: 1, closing: 2, closed: 3 } as const;
const NO_DESCRIPTOR = -1;
const LAYOUT = { word: WORD, state: STATE, none: NO_DESCRIPTOR } as const;
const TIMEOUT_MS = 10_000;
/** More than a process can have. */
const UNKNOWN_DESCRIPTOR = 2 ** 31 - 1;

interface Kept {
  readonly path: string;
  readonly flags: number;
  readonly words: Int32Array<SharedArrayBuffer>;
}

/** Opens a file, and closes it on request. Run as {@link programOf} says. */
function keep(
  { path, flags, words }: Kept,
  { word, state, none }: typeof LAYOUT,
  load: Load,
): void {
  const files = load('node:fs') as typeof import('node:fs');
  let descriptor: number = none;
  try {
    descriptor = files.openSync(path, flags);
  } catch {
    // The worker could open it, so it was removed meanwhile.
  }
  Atomics.store(words, word.descriptor, descriptor);
  Atomics.store(words, word.state, state.open);
  Atomics.notify(words, word.state);
  Atomics.wait(words, word.state, state.open);
  if (descriptor !== none) files.closeSync(descriptor);
  Atomics.store(words, word.state, state.closed);
  Atomics.notify(words, word.state);
}

/**
 * Returns the file with a descriptor that closes when this thread ends in any way, in place of the
 * given one, which it closes. Undefined if the file was removed or replaced meanwhile.
 *
 * @throws HandleError `ERR_HOST_UNSUPPORTED` if that needs a thread, which cannot be started.
 */
export function untilThreadEnds(file: RegionFile): RegionFile | undefined {
  if (isMainThread || closesDescriptors()) return file;
  const words = new Int32Array(new SharedArrayBuffer(WORD.count * Int32Array.BYTES_PER_ELEMENT));
  const close = () => {
    Atomics.store(words, WORD.state, STATE.closing);
    Atomics.notify(words, WORD.state);
    Atomics.wait(words, WORD.state, STATE.closing, TIMEOUT_MS);
  };
  // If this thread is terminated while it blocks, nobody closes the descriptor. A new file must be
  // removed if there is no keeper.
  if (!file.isNew) file.close();
  startKeeper(file, { path: file.path, flags: OPEN_FLAGS, words });
  const descriptor = Atomics.load(words, WORD.descriptor);
  if (descriptor === NO_DESCRIPTOR || !isOpenIn(file, descriptor)) {
    close();
    return undefined;
  }
  file.close();
  return { ...file, descriptor, close };
}

/** Starts a keeper, and blocks until it has tried to open its file. */
function startKeeper(file: RegionFile, kept: Kept): void {
  let cause: unknown;
  try {
    startThread({ Worker }, 'zerotime keeper', keep, kept, LAYOUT);
    const { words } = kept;
    const isLate = Atomics.wait(words, WORD.state, STATE.starting, TIMEOUT_MS) === 'timed-out';
    if (!isLate) return;
  } catch (error) {
    cause = error;
  }
  throw fail(
    'ERR_HOST_UNSUPPORTED',
    file.path,
    'cannot be opened in a worker with trackUnmanagedFds: false, which needs another thread',
    cause,
  );
}

/**
 * Whether Node.js closes this worker's descriptors at its end. If so, it warns of closing one that
 * it did not open.
 */
function closesDescriptors(): boolean {
  const { emitWarning } = process;
  let hasWarned = false;
  process.emitWarning = () => {
    hasWarned = true;
  };
  try {
    closeSync(UNKNOWN_DESCRIPTOR);
  } catch {
    // EBADF
  } finally {
    process.emitWarning = emitWarning;
  }
  return hasWarned;
}
