import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Semaphore } from '../../src/index.ts';
import { compiled } from '../support/crew.ts';
import { handleFor, KERNEL_MIXES, type KernelMix } from '../support/kernels.ts';
import { part, Random, SEED } from '../support/random.ts';
import { Rooms } from '../support/rooms.ts';
import type { UserJob } from '../workers/semaphore-user.ts';

const PERMITS = 10;
/** A busy machine may run the threads one after the other. */
const MOST_RUNS = 100;

function start(job: UserJob, kernels: KernelMix): Worker {
  const workerData = { ...job, handle: handleFor(job.handle, kernels, job.me) };
  const worker = new Worker(compiled('semaphore-user'), { workerData });
  onTestFinished(async () => void (await worker.terminate()));
  return worker;
}

function jobFor(semaphore: Semaphore, threads: number, acquisitions: number): UserJob {
  return {
    handle: semaphore.handle,
    rooms: Rooms.for(PERMITS).buffer,
    calls: new SharedArrayBuffer(4 * (threads + 1)),
    me: 0,
    seed: SEED,
    acquisitions,
  };
}

describe(`four threads that contend for ${PERMITS} permits (seed ${SEED})`, () => {
  test.each(KERNEL_MIXES)('never hold more: $mix', async ({ kernels }) => {
    const semaphore = Semaphore.create({ permits: PERMITS, stats: true });
    const acquisitions = part(10_000_000 / 12);
    const job = jobFor(semaphore, 4, acquisitions);
    for (let run = 0; run === 0 || semaphore.stats().lostRaces === 0; run++) {
      expect(run, 'runs without a lost race').toBeLessThan(MOST_RUNS);
      const workers = [1, 2, 3, 4].map((me) => start({ ...job, me }, kernels));
      const answers = await Promise.all(workers.map((worker) => once(worker, 'message')));
      expect(answers).toEqual(Array.from({ length: 4 }, () => ['done']));
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
    expect(semaphore.available()).toBe(PERMITS);
    expect(new Rooms(job.rooms).occupied).toBe(0);
    const { admitted, refused } = semaphore.stats();
    expect(admitted).toBeGreaterThan(acquisitions);
    expect(refused).toBeGreaterThan(0);
  });
});

describe(`workers that end while they acquire, hold and release (seed ${SEED})`, () => {
  test.each(KERNEL_MIXES)('leave exactly all permits: $mix', async ({ kernels }) => {
    const threads = part(100, 20);
    const semaphore = Semaphore.create({ permits: PERMITS });
    const job = jobFor(semaphore, threads, Number.POSITIVE_INFINITY);
    const [rooms, calls] = [new Rooms(job.rooms), new Int32Array(job.calls)];
    const random = new Random(SEED);
    const failures: unknown[] = [];
    let held = 0;
    const live = async (me: number): Promise<void> => {
      const worker = start({ ...job, me }, kernels);
      worker.on('error', (error) => failures.push(error));
      // Its rooms are free before its permits are.
      worker.on('exit', () => rooms.clear(me));
      semaphore.watch(worker);
      const instant = random.below(3000);
      while ((calls[me] ?? 0) <= instant && failures.length === 0) {
        await setTimeout(1);
      }
      held += semaphore.inUse();
      await worker.terminate();
    };
    let next = 0;
    const lives = async () => {
      while (next < threads) await live(++next);
    };
    await Promise.all([lives(), lives(), lives(), lives()]);
    expect(failures).toEqual([]);
    // Many of them held permits when they ended.
    expect(held).toBeGreaterThan(threads);
    expect(rooms.occupied).toBe(0);
    expect(semaphore.inUse()).toBe(0);
    expect(semaphore.available()).toBe(PERMITS);
    expect(semaphore.tryAcquire(PERMITS)?.n).toBe(PERMITS);
  });

  test('in the queue do not block it', async () => {
    const semaphore = Semaphore.create({ permits: PERMITS });
    const job = jobFor(semaphore, 1, Number.POSITIVE_INFINITY);
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
        workerData: { ...job, module: new URL('../../dist/src/index.js', import.meta.url).href },
      },
    );
    semaphore.watch(worker);
    await once(worker, 'message');
    // Behind the worker as soon as that is in the queue.
    while (semaphore.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
    const behind = semaphore.acquire(7);
    all?.release();
    await worker.terminate();
    expect((await behind).n).toBe(7);
    expect(semaphore.available()).toBe(3);
  });
});
