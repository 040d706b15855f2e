import { type KernelName, type LimiterHandle, Region, Semaphore } from '../../src/index.ts';
import { createSemaphoreCell } from '../../src/kernel/semaphore/cell.ts';
import { handleOf } from '../../src/limiters/opening.ts';
import { OWNER, OWNER_BYTES, OWNER_COUNT, SEMAPHORE } from '../../src/memory/layout.ts';
import { Rooms } from '../support/rooms.ts';
import { keepsPermit } from './permit-work.ts';
import { newClock, type Scene } from './scene.ts';

const PERMITS = 10;

/** The threads that a semaphore knows. One leaves as it ends, unless it holds a permit. */
function entriesOf({ i32 }: Region, { offset }: LimiterHandle): number[] {
  return Array.from({ length: OWNER_COUNT }, (_, owner) => {
    const at = offset + SEMAPHORE.owners + owner * OWNER_BYTES + OWNER.thread;
    return Atomics.load(i32, at >> 2);
  });
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
    rooms,
    hired: (worker, line) => {
      const mark = worker.threadId + 1;
      worker.on('exit', (code) => {
        // Before its permits come back: one that ends by itself has released them all.
        if (code === 0 && entriesOf(region, handle).includes(mark))
          kept = 'a released permit is still out';
        // A killed thread's rooms are free before its permits are.
        rooms.clear(line + 1);
      });
      semaphore.watch(worker);
    },
    moved: () => undefined,
    disturb: (draw) => change(1 + (draw % PERMITS)),
    audit: () => {
      const [inUse, waiting, { occupied }] = [semaphore.inUse(), semaphore.waiting, rooms];
      change(PERMITS);
      const isClean = inUse === 0 && waiting === 0 && occupied === 0;
      const found = `${inUse} permits are out, ${waiting} callers wait, ${occupied} rooms are occupied`;
      const violation =
        isClean && semaphore.available() === PERMITS ? kept : `${found}, and nobody is there`;
      return { exact: true, violation };
    },
  };
}

const SEATS = 16;
/** Of the main thread. Each of four others holds two at most, so a seat is always free. */
const HELD = SEATS - 4 * 2 - 1;

/**
 * Never without room, whichever seats the threads exchange. A thread that ends by
 * itself leaves its entry if it holds nothing; otherwise its permits come back with the entry.
 */
export function seatScene(kernel: KernelName): Scene {
  const clock = newClock();
  const region = Region.create();
  const shape = { permits: SEATS, maxPermits: SEATS, seats: SEATS, holdMs: 0 };
  const cell = createSemaphoreCell({ ...shape, originUs: 0, stats: false, region });
  const { handle } = Semaphore.attach(handleOf({ kind: 'semaphore', cell, clock, kernel }));
  const semaphore = Semaphore.attach(handle);
  for (let i = 0; i < HELD; i++) semaphore.tryAcquire();
  const entries = () => entriesOf(region, handle);
  let wrong = '';
  return {
    name: 'semaphore, almost without room',
    work: 'seat',
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
