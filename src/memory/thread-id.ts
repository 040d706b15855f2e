import { nodeModule } from './node-module.ts';

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
export function ownThreadId(): number {
  known ??= threads()?.threadId ?? RANDOM_FROM + Math.floor(Math.random() * (RANDOM_FROM - 1));
  return known;
}

const ends = new Map<string, () => void>();

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
