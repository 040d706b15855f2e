import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { ManualClock, Semaphore } from '../../src/index.ts';
import { compiled } from '../support/crew.ts';
import { handleFor, KERNEL_MIXES, type KernelMix } from '../support/kernels.ts';
import { leaked } from '../support/leaks.ts';
import { part, SEED } from '../support/random.ts';
import { Rooms } from '../support/rooms.ts';
import type { UserJob } from '../workers/semaphore-user.ts';

// The soak kills threads that acquire, hold and release: all of their permits come back.

const PERMITS = 10;
/** Of one that adapts. Callers ask for up to 3 permits. */
const RANGE = { min: 4, max: 12, initial: 8 };
/** A window of that is due after 200 ms. */
const STEP_MS = 60;
const ACQUISITIONS = part(10_000_000 / 12);
/** A busy machine may run the threads one after the other. */
const MOST_RUNS = 100;

/** Four threads that each acquire, hold and release this many times. */
function fourUsers(semaphore: Semaphore, rooms: Rooms, kernels: KernelMix): Worker[] {
  return [1, 2, 3, 4].map((me) => {
    const handle = handleFor(semaphore.handle, kernels, me);
    const job: UserJob = {
      ...{ handle, rooms: rooms.buffer, me, seed: SEED, acquisitions: ACQUISITIONS },
    };
    const worker = new Worker(compiled('semaphore-user'), { workerData: job });
    onTestFinished(async () => void (await worker.terminate()));
    semaphore.watch(worker);
    return worker;
  });
}

// docs/permits.md: "How a semaphore works proves that the permits in use never"
test.each(KERNEL_MIXES)(
  `four threads that contend for ${PERMITS} permits never hold more: $mix (seed ${SEED})`,
  async ({ kernels }) => {
    const semaphore = Semaphore.create({ permits: PERMITS, stats: true });
    const rooms = Rooms.for(PERMITS);
    for (let run = 0; run === 0 || semaphore.stats().failedExchanges === 0; run++) {
      expect(run, 'runs without a failed exchange').toBeLessThan(MOST_RUNS);
      const workers = fourUsers(semaphore, rooms, kernels);
      const answers = await Promise.all(workers.map((worker) => once(worker, 'message')));
      expect(answers).toEqual(Array.from({ length: 4 }, () => ['done']));
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
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
    const workers = fourUsers(semaphore, rooms, kernels);
    let running = workers.length;
    const done = workers.map(async (worker) => {
      await once(worker, 'message');
      running--;
    });
    const permits = new Set<number>();
    let mostDropped = 0;
    while (running > 0) {
      await clock.advance(STEP_MS);
      permits.add(semaphore.permits);
      mostDropped = Math.max(mostDropped, semaphore.adaptation?.dropped ?? 0);
      await setImmediate();
    }
    await Promise.all(done);
    await Promise.all(workers.map((worker) => worker.terminate()));
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
  while (semaphore.waiting === 0) await setImmediate();
  const behind = semaphore.acquire(7);
  all?.release();
  await worker.terminate();
  expect((await behind).n).toBe(7);
  expect(semaphore.available()).toBe(3);
});
