import type { Region } from './region.ts';
import { ownThreadId } from './thread-id.ts';

/** The bits of a mark that hold the thread in a region of several processes. */
const THREAD_BITS = 20;
const THREAD_MASK = 2 ** THREAD_BITS - 1;

/**
 * Identifies a thread in a region, as a positive integer: in a region of several processes, by the
 * entry of its process and the low bits of its id there.
 */
export function markOf(region: Region, threadId: number = ownThreadId()): number {
  const { sharing } = region;
  if (sharing === undefined) return threadId + 1;
  return sharing.process * 2 ** THREAD_BITS + (threadId & THREAD_MASK) + 1;
}

/** The entry of the process that a mark of such a region names. */
export function processOfMark(mark: number): number {
  return (mark - 1) >>> THREAD_BITS;
}
