import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { KeyedTokenBucket, ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { BUCKET, OWNER, OWNER_BYTES, OWNER_COUNT, SEMAPHORE } from '../../src/memory/layout.ts';
import { claimRecords } from '../support/cell.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { leaked } from '../support/leaks.ts';
import { part, SEED } from '../support/random.ts';
import { Rooms } from '../support/rooms.ts';
import { until } from '../support/settled.ts';

// The soak kills threads that acquire, hold and release: all of their permits come back.

const PERMITS = 10;
/** Of one that adapts. Callers ask for up to 3 permits. */
const RANGE = { min: 4, max: 12, initial: 8 };
/** A window of that is due after 200 ms. */
const STEP_MS = 60;
const ACQUISITIONS = part(10_000_000 / 12);
/** A busy machine may run the threads one after the other. */
const MOST_RUNS = 100;

/** Each of the threads acquires, holds and releases this many permits. */
const USE = { seed: SEED, acquisitions: ACQUISITIONS };

/** Four threads that use permits, and return them when they end. */
async function fourUsers(semaphore: Semaphore) {
  const crew = await Crew.of('takers', 'usePermits', 4);
  for (const worker of crew.workers) semaphore.watch(worker);
  return crew;
}

// docs/permits.md: "How a semaphore works proves that the permits in use never"
test.each(KERNEL_MIXES)(
  `four threads that contend for ${PERMITS} permits never hold more: $mix (seed ${SEED})`,
  async ({ kernels }) => {
    const semaphore = Semaphore.create({ permits: PERMITS, stats: true });
    const rooms = Rooms.for(PERMITS);
    const crew = await fourUsers(semaphore);
    for (let run = 0; run === 0 || semaphore.stats().failedExchanges === 0; run++) {
      expect(run, 'runs without a failed exchange').toBeLessThan(MOST_RUNS);
      await crew.run({ ...USE, handle: semaphore.handle, rooms: rooms.buffer, kernels });
    }
    await Promise.all(crew.workers.map((worker) => worker.terminate()));
    expect(leaked(semaphore)).toBe('');
    expect(rooms.occupied).toBe(0);
    const { admitted, refused } = semaphore.stats();
    expect(admitted).toBeGreaterThan(ACQUISITIONS);
    expect(refused).toBeGreaterThan(0);
  },
);

// docs/how-many-at-once.md: "There is no leader: whichever call completes a window"
test.each(KERNEL_MIXES)(
  `four threads whose calls share the windows of a semaphore never hold more than its largest number: $mix (seed ${SEED})`,
  async ({ kernels }) => {
    const clock = ManualClock.create();
    const semaphore = Semaphore.create({ permits: RANGE, adapt: 'gradient', clock, stats: true });
    const rooms = Rooms.for(RANGE.max);
    const crew = await fourUsers(semaphore);
    let isOver = false;
    const done = crew
      .run({ ...USE, handle: semaphore.handle, rooms: rooms.buffer, kernels })
      .finally(() => {
        isOver = true;
      });
    const permits = new Set<number>();
    let mostDropped = 0;
    while (!isOver) {
      await clock.advance(STEP_MS);
      permits.add(semaphore.permits);
      mostDropped = Math.max(mostDropped, semaphore.adaptation?.dropped ?? 0);
      await setImmediate();
    }
    await done;
    await Promise.all(crew.workers.map((worker) => worker.terminate()));
    expect(permits.size, 'numbers that the windows chose').toBeGreaterThan(1);
    expect(Math.min(...permits)).toBeGreaterThanOrEqual(RANGE.min);
    expect(Math.max(...permits)).toBeLessThanOrEqual(RANGE.max);
    expect(semaphore.stats().failedExchanges).toBeGreaterThan(0);
    expect(mostDropped).toBe(0);
    expect(rooms.occupied).toBe(0);
    expect(leaked(semaphore)).toBe('');
  },
);

test('workers that end in the queue do not block it', async () => {
  const semaphore = Semaphore.create({ permits: PERMITS });
  const all = semaphore.tryAcquire(PERMITS);
  const worker = new Worker(
    `const { workerData } = require('node:worker_threads');
     import(workerData.module).then(({ Semaphore }) => {
       const semaphore = Semaphore.attach(workerData.handle);
       require('node:worker_threads').parentPort.postMessage('waits');
       semaphore.acquireSync(5);
     });`,
    {
      eval: true,
      workerData: {
        handle: semaphore.handle,
        module: new URL('../../dist/src/index.js', import.meta.url).href,
      },
    },
  );
  semaphore.watch(worker);
  await once(worker, 'message');
  // Behind the worker as soon as that is in the queue.
  await until(() => semaphore.waiting > 0);
  const behind = semaphore.acquire(7);
  all?.release();
  await worker.terminate();
  expect((await behind).n).toBe(7);
  expect(semaphore.available()).toBe(3);
});

const CODE = `
  const { parentPort, workerData } = require('node:worker_threads');
  process.on('warning', ({ code }) => parentPort.postMessage(code));
  import(workerData.module).then(({ Semaphore }) => {
    const semaphore = Semaphore.attach(workerData.handle);
    const permit = semaphore.tryAcquire();
    if (workerData.does !== 'keeps') permit.release();
    if (workerData.does === 'keeps') globalThis.permit = permit;
    parentPort.postMessage('done');
    if (workerData.stays) setInterval(() => undefined, 1000);
  });`;

interface Life {
  readonly does: 'releases' | 'keeps';
  readonly stays: boolean;
}

function start(semaphore: Semaphore, life: Life): Worker {
  const module = new URL('../../dist/src/index.js', import.meta.url).href;
  const workerData = { ...life, module, handle: semaphore.handle };
  // Warnings are still events.
  const worker = new Worker(CODE, { eval: true, workerData, execArgv: ['--no-warnings'] });
  onTestFinished(async () => void (await worker.terminate()));
  return worker;
}

/** A semaphore with entries for this many threads. Ended threads hold the others. */
function withEntries(left: number): Semaphore {
  const semaphore = Semaphore.create({ permits: 10 });
  const { memory, offset } = semaphore.handle;
  const i32 = new Int32Array('buffer' in memory ? memory.buffer : memory);
  const at = (owner: number) =>
    (offset + SEMAPHORE.owners + owner * OWNER_BYTES + OWNER.thread) >> 2;
  // This thread has entry 1.
  for (let owner = 2; owner < OWNER_COUNT - left; owner++) i32[at(owner)] = 1_000_000 + owner;
  return semaphore;
}

test('threads that end by themselves leave their entries to others, whose permits come back', async () => {
  const semaphore = withEntries(1);
  for (let life = 0; life < 3; life++) {
    const worker = start(semaphore, { does: 'releases', stays: false });
    await once(worker, 'exit');
  }
  const watched = start(semaphore, { does: 'keeps', stays: true });
  semaphore.watch(watched);
  expect(await once(watched, 'message')).toEqual(['done']);
  expect(semaphore.inUse()).toBe(1);
  await watched.terminate();
  expect(semaphore.inUse()).toBe(0);
});

test('a thread that ends by itself with a permit keeps its entry for the one that watches it', async () => {
  const semaphore = withEntries(1);
  const worker = start(semaphore, { does: 'keeps', stays: false });
  semaphore.watch(worker);
  await once(worker, 'exit');
  expect(semaphore.inUse()).toBe(0);
});

// docs/host.md: "Such threads also use up the 255 owners of each semaphore"
test('a thread that finds no entry says that its permits do not come back, and they do not', async () => {
  const semaphore = withEntries(0);
  const worker = start(semaphore, { does: 'keeps', stays: true });
  semaphore.watch(worker);
  const messages: unknown[] = [];
  worker.on('message', (message) => messages.push(message));
  while (messages.length < 2) await once(worker, 'message');
  expect(messages.sort()).toEqual(['ZEROTIME_SEMAPHORE_OWNERS', 'done']);
  await worker.terminate();
  expect(semaphore.inUse()).toBe(1);
});

test('reports what a scene leaves behind: permits, callers, entries of a table, records', () => {
  const semaphore = Semaphore.create({ permits: 3 });
  expect(leaked(semaphore)).toBe('');
  const permit = semaphore.tryAcquire(2);
  expect(leaked(semaphore)).toBe('left behind: 2 permits, 1 available');
  permit?.release();

  const clock = ManualClock.create();
  const table = KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 4, clock });
  const idle = { capacity: 4, full: 2 };
  expect(leaked(table, idle)).toBe('');
  clock.advance(2000);
  // A key in debt keeps its entry, so one of four others has none of its own.
  table.charge('debtor', 1000);
  expect(leaked(table, idle)).toMatch(/^left behind: .*a key of [01] tokens|entries of 4/);

  const bucket = TokenBucket.create({ rate: 1, burst: 2, clock });
  expect(leaked(bucket)).toBe('');
  const { memory, offset } = bucket.handle;
  const buffer = 'buffer' in memory ? memory.buffer : memory;
  // Records of ended threads are taken over. More of them than there are leave none for a change.
  claimRecords(buffer, offset + BUCKET.claims, 0b0110);
  expect(leaked(bucket)).toBe('');
});
