import { parentPort, workerData } from 'node:worker_threads';
import { type LimiterHandle, type Permit, Semaphore } from '../../src/index.ts';
import { Random } from '../support/random.ts';
import { Rooms } from '../support/rooms.ts';

/** The task of a thread that uses permits. */
export interface UserJob {
  readonly handle: LimiterHandle<'semaphore'>;
  readonly rooms: SharedArrayBuffer;
  /** From 1 on. */
  readonly me: number;
  readonly seed: number;
  /** Ends after as many acquisitions. */
  readonly acquisitions: number;
}

const MOST_HELD = 4;

/** Acquires, holds and releases permits at random, each with as many rooms. */
function use({ handle, rooms: buffer, me, seed, acquisitions }: UserJob): void {
  const semaphore = Semaphore.attach(handle);
  const rooms = new Rooms(buffer);
  const random = new Random(seed + me);
  const held: { permit: Permit; rooms: number[] }[] = [];
  const take = (): Permit | undefined => {
    const n = 1 + random.below(3);
    // Only a caller without permits may wait: others could wait for each other.
    return held.length === 0 && random.below(4) === 0
      ? semaphore.acquireSync(n)
      : semaphore.tryAcquire(n);
  };
  for (let acquired = 0; acquired < acquisitions; ) {
    const permit = held.length < MOST_HELD && random.below(2) === 0 ? take() : undefined;
    if (permit === undefined) {
      const [last] = held.splice(random.below(Math.max(1, held.length)), 1);
      if (last !== undefined) rooms.leave(last.rooms);
      last?.permit.release();
    } else {
      held.push({ permit, rooms: rooms.enter(me, permit.n) });
      acquired += permit.n;
    }
  }
  for (const { permit, rooms: mine } of held) {
    rooms.leave(mine);
    permit.release();
  }
}

use(workerData as UserJob);
parentPort?.postMessage('done');
