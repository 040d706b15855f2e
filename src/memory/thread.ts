import type { Region } from './region.ts';
import { nodeModule } from './runtime.ts';

/** The parts of `node:worker_threads` used here. */
interface Threads {
  readonly threadId: number;
  readonly isMainThread: boolean;
}

/** Random ids, for threads without one, start here. Those of Node.js count from 0. */
const RANDOM_FROM = 2 ** 30;

let known: number | undefined;

function threads(): Threads | undefined {
  return nodeModule<Threads>('worker_threads');
}

/** Whether threads know the id of their worker. */
export function hasThreadIds(): boolean {
  return threads() !== undefined;
}

/**
 * Identifies this thread in its process: the worker's `threadId` in Node.js 20.16 and later, a
 * random number elsewhere. Integers from 0 to 2^31 - 2.
 */
function ownThreadId(): number {
  known ??= threads()?.threadId ?? RANDOM_FROM + Math.floor(Math.random() * (RANDOM_FROM - 1));
  return known;
}

const ends = /* @__PURE__ */ new Map<string, () => void>();

/**
 * Calls `end` when this worker thread of Node.js ends by itself. A thread that is terminated runs no
 * more code. A second `end` of the same name replaces the first.
 */
export function atThreadEnd(name: string, end: () => void): void {
  if (threads()?.isMainThread !== false) return;
  if (ends.size === 0) {
    globalThis.process.once('exit', () => {
      for (const end of ends.values()) end();
    });
  }
  ends.set(name, end);
}

/** The bits of a mark for the thread, in a region of several processes. */
const THREAD_BITS = 20;
const THREAD_MASK = 2 ** THREAD_BITS - 1;

/**
 * Identifies a thread in a region by a positive integer. In a region of several processes, it
 * combines the process's entry with the low bits of the thread's id.
 */
export function markOf(region: Region, threadId: number = ownThreadId()): number {
  const { sharing } = region;
  if (sharing === undefined) return threadId + 1;
  return sharing.process * 2 ** THREAD_BITS + (threadId & THREAD_MASK) + 1;
}

/** The entry of the process in a mark of such a region. */
export function processOfMark(mark: number): number {
  return (mark - 1) >>> THREAD_BITS;
}
