import type { Region } from './region.ts';
import { ownThreadId } from './thread-id.ts';

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
