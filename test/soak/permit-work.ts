import {
  type LimiterHandle,
  type Permit,
  type RateLimitError,
  Semaphore,
} from '../../src/index.ts';
import type { Random } from '../support/random.ts';
import { Rooms } from '../support/rooms.ts';
import type { SoakJob } from './job.ts';
import type { Ledger } from './ledger.ts';
import type { Work } from './work.ts';

const MOST_HELD = 4;
const MOST_PENDING = 3;

interface Held {
  readonly permit: Permit;
  readonly rooms: readonly number[];
}

/** Acquires, holds and releases permits, and occupies a room for each. */
export function permitWork(job: SoakJob, ledger: Ledger, random: Random): Work {
  const semaphore = Semaphore.attach(job.handle as LimiterHandle<'semaphore'>);
  const rooms = new Rooms(job.shared);
  const me = job.line + 1;
  const held: Held[] = [];
  const pending = new Map<AbortController, Promise<void>>();
  let failure: unknown;

  const hold = (permit: Permit | undefined) => {
    if (permit !== undefined) held.push({ permit, rooms: rooms.enter(me, permit.n) });
  };
  const release = (which: number) => {
    for (const { permit, rooms: mine } of held.splice(which, 1)) {
      rooms.leave(mine);
      permit.release();
    }
  };
  const wait = (n: number) => {
    const controller = new AbortController();
    const { signal } = controller;
    const done = semaphore.acquire(n, { signal }).then(hold);
    const ended = done.catch((error) => {
      // A change may leave fewer permits than the call asks for.
      const isExpected = signal.aborted || (error as RateLimitError).code === 'ERR_EXCEEDS_BURST';
      if (!isExpected) failure ??= error;
    });
    pending.set(
      controller,
      ended.finally(() => pending.delete(controller)),
    );
  };
  const step = () => {
    if (failure !== undefined) throw failure;
    const n = 1 + random.below(3);
    ledger.begin(job.line, 0, 0);
    if (held.length > 0 && (held.length === MOST_HELD || random.below(2) === 0)) {
      release(random.below(held.length));
    } else if (random.below(4) === 0 && pending.size < MOST_PENDING) wait(n);
    else hold(semaphore.tryAcquire(n));
    ledger.end(job.line, 0, 0, 0);
  };
  const abort = () => {
    if (!job.aborts) return;
    for (const controller of pending.keys()) if (random.below(4) === 0) controller.abort();
  };
  const rest = async () => {
    for (const controller of pending.keys()) controller.abort();
    await Promise.all(pending.values());
    while (held.length > 0) release(0);
    if (failure !== undefined) throw failure;
  };
  return { step, abort, rest };
}

/** Whether a thread ends with a permit. */
export function keepsPermit(line: number): boolean {
  return line % 2 === 1;
}

/** Exchanges the older of two permits for another. There is always room for it. */
export function waiterWork(job: SoakJob, ledger: Ledger): Work {
  const semaphore = Semaphore.attach(job.handle as LimiterHandle<'semaphore'>);
  const held: Permit[] = [];
  const step = () => {
    ledger.begin(job.line, 0, 0);
    if (held.length === 2) held.shift()?.release();
    const permit = semaphore.tryAcquire();
    if (permit === undefined) throw new Error('no permit, though one is always free');
    held.push(permit);
    if (semaphore.available() === 0) throw new Error('no room, though a waiter is always free');
    ledger.end(job.line, 0, 0, 0);
  };
  const rest = async () => {
    // The round may be over before its first step.
    if (held.length === 0) step();
    if (!keepsPermit(job.line)) for (const permit of held) permit.release();
  };
  return { step, rest };
}
