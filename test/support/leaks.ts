import { Semaphore } from '../../src/index.ts';
import type { LimiterHandle } from '../../src/memory/handle.ts';
import {
  BUCKET,
  KEYED,
  OWNER,
  OWNER_BYTES,
  OWNER_COUNT,
  SEMAPHORE,
} from '../../src/memory/layout.ts';
import { claimedAt, takeOver } from './cell.ts';
import { isTable, type Subject } from './kinds.ts';

// The one check of what is scarce. After any scene, however many of its threads and processes were
// killed, all of it is back: permits, waiters and entries of a semaphore, the configuration records of
// any limiter, the entries of a table.

/** More changes than there are records. */
const CHANGES = 10;

/** Changes nothing, but writes a record. */
interface Changed {
  reconfigure(change: object): void;
  readonly limits?: readonly unknown[];
}

/** A table whose keys have idled. */
export interface Table {
  readonly capacity: number;
  /** What a key gets that the table has never seen. */
  readonly full: number;
}

function memoryOf({ memory }: LimiterHandle): ArrayBufferLike {
  return 'buffer' in memory ? memory.buffer : memory;
}

/** The marks of the threads that a semaphore knows, and 0 for each free entry. */
export function ownersOf({ handle }: Pick<Semaphore, 'handle'>): number[] {
  const i32 = new Int32Array(memoryOf(handle));
  return Array.from({ length: OWNER_COUNT }, (_, owner) => {
    const at = handle.offset + SEMAPHORE.owners + owner * OWNER_BYTES + OWNER.thread;
    return Atomics.load(i32, at >> 2);
  });
}

function leakedPermits(semaphore: Semaphore): string[] {
  const { waiting } = semaphore;
  // From here on, this thread has an entry. The call may change the number of permits: it counts in a
  // window, and completes one that is due.
  semaphore.tryAcquire()?.release();
  const { permits } = semaphore;
  const [inUse, available] = [semaphore.inUse(), semaphore.available()];
  const others = ownersOf(semaphore).filter((mark) => mark !== 0).length - 1;
  return [
    ...(inUse === 0 && available === permits ? [] : [`${inUse} permits, ${available} available`]),
    ...(waiting === 0 ? [] : [`${waiting} callers in the queue`]),
    ...(others === 0 ? [] : [`${others} entries of other threads`]),
  ];
}

/** Each change claims a record, and frees it; a second after, it takes over those of ended threads. */
function leakedRecords(one: Changed, handle: LimiterHandle): string[] {
  const hasKeys = handle.zerotime.startsWith('keyed') || handle.zerotime === 'limit-set';
  const at = handle.offset + (hasKeys ? KEYED.claims : BUCKET.claims);
  const buffer = memoryOf(handle);
  takeOver(buffer, at);
  for (let i = 0; i < CHANGES; i++) {
    one.reconfigure(one.limits === undefined ? {} : { limits: one.limits.map(() => ({})) });
  }
  const claimed = claimedAt(buffer, at);
  return claimed === 0 ? [] : [`records ${claimed.toString(2)}`];
}

/** No scene has such keys. */
let fresh = 2 ** 40;

/** New keys find all places of the table, and each gets a bucket of its own. */
function leakedEntries(one: Subject, { capacity, full }: Table): string[] {
  if (!isTable(one)) return [];
  const given = Array.from({ length: capacity }, () => one.for(fresh++).consumeOrDrain?.(2 * full));
  const { entries } = one.stats();
  return [
    ...given.filter((tokens) => tokens !== full).map((tokens) => `a key of ${tokens} tokens`),
    ...(entries === capacity ? [] : [`${entries} entries of ${capacity}`]),
  ];
}

/**
 * What is not back; empty if all is. Nobody uses the limiter any more, and permits of watched threads
 * have been returned.
 */
export function leaked(one: Semaphore | Subject, table?: Table): string {
  const { handle } = one;
  if (handle === undefined) throw new Error('no thread can attach to this one');
  const found =
    one instanceof Semaphore
      ? leakedPermits(one)
      : [
          ...('reconfigure' in one ? leakedRecords(one as unknown as Changed, handle) : []),
          ...(table === undefined ? [] : leakedEntries(one, table)),
        ];
  return found.length === 0 ? '' : `left behind: ${found.join(', ')}`;
}
