import { nodeModule } from './node-module.ts';

/** The part of `node:worker_threads` that is used here. */
interface Threads {
  readonly threadId: number;
}

/** Ids from here on are random, for threads without one. Those of Node.js count from 0. */
const RANDOM_FROM = 2 ** 30;

let known: number | undefined;

function threads(): Threads | undefined {
  return nodeModule<Threads>('worker_threads');
}

/** Whether threads know the id that their worker has. */
export function hasThreadIds(): boolean {
  return threads() !== undefined;
}

/**
 * Identifies this thread in its process: the `threadId` of its worker in Node.js 20.16 and later, a
 * random number elsewhere. Integers from 0 to 2^31 - 2.
 */
export function ownThreadId(): number {
  known ??= threads()?.threadId ?? RANDOM_FROM + Math.floor(Math.random() * (RANDOM_FROM - 1));
  return known;
}
