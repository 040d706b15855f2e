import {
  type KernelName,
  type LimiterHandle,
  type ManualClock,
  type Permit,
  type RateLimitError,
  Region,
  Semaphore,
} from '../../src/index.ts';
import { createSemaphoreCell } from '../../src/kernel/semaphore/cell.ts';
import { handleOf } from '../../src/limiters/opening.ts';
import { leaked, ownersOf } from '../support/leaks.ts';
import type { Random } from '../support/random.ts';
import { Rooms } from '../support/rooms.ts';
import type { SoakJob, Work } from './job.ts';
import type { Ledger } from './ledger.ts';
import { newClock, type Scene } from './scene.ts';

const PERMITS = 10;

/** Longer than any other call takes. */
const LATENCY_MS = 77;

/** Whether the calls of this thread close windows, whatever ended threads have left. */
function closesWindows(semaphore: Semaphore, clock: ManualClock): boolean {
  const isShown = () => Math.abs((semaphore.adaptation?.latencyMs ?? 0) - LATENCY_MS) < 0.5;
  // A window counts 8 times the least latency at most, which begins at less than a microsecond.
  for (let i = 0; i < 5000 && !isShown(); i++) {
    const permit = semaphore.tryAcquire();
    clock.advance(LATENCY_MS);
    permit?.release();
  }
  return isShown();
}

/**
 * Never more permits in use than exist, and none after a round, whichever threads were killed. If
 * it adapts, the threads and disturbances change the number.
 */
export function permitScene(kernel: KernelName, adapts = false): Scene {
  const clock = newClock();
  const region = Region.create();
  const rooms = Rooms.for(PERMITS);
  const semaphore = Semaphore.create({
    ...(adapts ? { permits: { max: PERMITS }, adapt: 'gradient' } : { permits: PERMITS }),
    ...{ clock, kernel, region },
  });
  const { handle } = semaphore;
  let kept = '';
  const change = (number: number) =>
    semaphore.reconfigure({ permits: adapts ? { min: number, max: PERMITS } : number });
  return {
    name: adapts ? 'semaphore that adapts' : 'semaphore',
    work: 'permit',
    accounts: 1,
    clock,
    handle,
    back: true,
    shared: rooms.buffer,
    hired: (worker, line) => {
      const mark = worker.threadId + 1;
      worker.on('exit', (code) => {
        // Before its permits come back: one that ends by itself has released them all.
        if (code === 0 && ownersOf(semaphore).includes(mark))
          kept = 'a released permit is still out';
        // A killed thread's rooms are free before its permits are.
        rooms.clear(line + 1);
      });
      semaphore.watch(worker);
    },
    moved: () => undefined,
    disturb: (draw) => change(1 + (draw % PERMITS)),
    audit: () => {
      if (adapts && !closesWindows(semaphore, clock)) kept ||= 'the windows do not close';
      change(PERMITS);
      const { occupied } = rooms;
      const violation =
        leaked(semaphore) || (occupied > 0 ? `${occupied} rooms are occupied` : kept);
      return { exact: true, violation };
    },
  };
}

const WAITERS = 16;
/** Of the main thread. Each of four others holds two at most, so a waiter is always free. */
const HELD = WAITERS - 4 * 2 - 1;

/**
 * Never without room, whichever waiters the threads exchange. A thread that ends by
 * itself leaves its entry if it holds nothing; otherwise its permits come back with the entry.
 */
export function waiterScene(kernel: KernelName): Scene {
  const clock = newClock();
  const region = Region.create();
  const shape = { permits: WAITERS, maxPermits: WAITERS, waiters: WAITERS, holdMs: 0 };
  const cell = createSemaphoreCell({ ...shape, originUs: 0, stats: false, region });
  const { handle } = Semaphore.attach(handleOf({ kind: 'semaphore', cell, clock, kernel }));
  const semaphore = Semaphore.attach(handle);
  for (let i = 0; i < HELD; i++) semaphore.tryAcquire();
  const entries = () => ownersOf(semaphore);
  let wrong = '';
  return {
    name: 'semaphore, almost without room',
    work: 'waiter',
    accounts: 1,
    clock,
    handle,
    back: true,
    hired: (worker, line) => {
      const mark = worker.threadId + 1;
      worker.once('exit', (code) => {
        const isThere = entries().includes(mark);
        if (code === 0 && isThere !== keepsPermit(line)) wrong = `entry left: ${!isThere}`;
      });
      semaphore.watch(worker);
    },
    moved: () => undefined,
    disturb: () => undefined,
    audit: () => {
      const left = entries().filter((mark) => mark !== 0).length;
      if (left !== 1) wrong ||= `${left - 1} entries of ended threads`;
      if (semaphore.inUse() !== HELD) wrong ||= `${semaphore.inUse() - HELD} permits are out`;
      return { exact: true, violation: wrong };
    },
  };
}

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
function keepsPermit(line: number): boolean {
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
