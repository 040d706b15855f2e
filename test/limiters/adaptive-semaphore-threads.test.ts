import { once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock, Semaphore } from '../../src/index.ts';
import { compiled } from '../support/crew.ts';
import { handleFor, KERNEL_MIXES, type KernelMix } from '../support/kernels.ts';
import { part, Random, SEED } from '../support/random.ts';
import { Rooms } from '../support/rooms.ts';
import type { UserJob } from '../workers/semaphore-user.ts';

/** Callers ask for up to 3 permits. */
const RANGE = { min: 4, max: 12, initial: 8 };
/** A window is due after 200 ms. */
const STEP_MS = 60;

function make() {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: RANGE, adapt: 'gradient', clock, stats: true });
  return { clock, semaphore };
}

function start(job: UserJob, kernels: KernelMix): Worker {
  const workerData = { ...job, handle: handleFor(job.handle, kernels, job.me) };
  const worker = new Worker(compiled('semaphore-user'), { workerData });
  onTestFinished(async () => void (await worker.terminate()));
  return worker;
}

function jobFor(semaphore: Semaphore, threads: number, acquisitions: number): UserJob {
  return {
    handle: semaphore.handle,
    rooms: Rooms.for(RANGE.max).buffer,
    calls: new SharedArrayBuffer(4 * (threads + 1)),
    me: 0,
    seed: SEED,
    acquisitions,
  };
}

/** The permits that the semaphore has had. */
function watchPermits(semaphore: Semaphore): Set<number> {
  const seen = new Set([semaphore.permits]);
  for (const permits of seen) {
    expect(permits).toBeGreaterThanOrEqual(RANGE.min);
    expect(permits).toBeLessThanOrEqual(RANGE.max);
  }
  return seen;
}

/** Whether this thread's calls still close windows, whatever ended threads have left. */
async function closesWindows({ clock, semaphore }: ReturnType<typeof make>): Promise<void> {
  // A window counts 8 times the least latency at most, which begins at less than a microsecond.
  for (let i = 0; i < 5000 && (semaphore.adaptation?.latencyMs ?? 0) < 76; i++) {
    const permit = semaphore.tryAcquire();
    await clock.advance(77);
    permit?.release();
  }
  expect(semaphore.adaptation?.latencyMs).toBeCloseTo(77, 0);
}

describe(`four threads whose calls share the windows of a semaphore (seed ${SEED})`, () => {
  test.each(KERNEL_MIXES)('never hold more than its largest number: $mix', async ({ kernels }) => {
    const made = make();
    const { clock, semaphore } = made;
    const job = jobFor(semaphore, 4, part(10_000_000 / 12));
    const workers = [1, 2, 3, 4].map((me) => start({ ...job, me }, kernels));
    let running = workers.length;
    const done = workers.map(async (worker) => {
      await once(worker, 'message');
      running--;
    });
    const permits = new Set<number>();
    let mostDropped = 0;
    while (running > 0) {
      await clock.advance(STEP_MS);
      for (const number of watchPermits(semaphore)) permits.add(number);
      mostDropped = Math.max(mostDropped, semaphore.adaptation?.dropped ?? 0);
      await setImmediate();
    }
    await Promise.all(done);
    await Promise.all(workers.map((worker) => worker.terminate()));
    expect(permits.size, 'numbers that the windows chose').toBeGreaterThan(1);
    expect(semaphore.stats().lostRaces).toBeGreaterThan(0);
    expect(mostDropped).toBe(0);
    expect(new Rooms(job.rooms).occupied).toBe(0);
    expect(semaphore.inUse()).toBe(0);
    expect(semaphore.available()).toBe(semaphore.permits);
    await closesWindows(made);
  });
});

describe(`workers that end while their calls share windows (seed ${SEED})`, () => {
  test.each(KERNEL_MIXES)(
    'leave all permits, and windows that close: $mix',
    async ({ kernels }) => {
      const threads = part(100, 20);
      const made = make();
      const { clock, semaphore } = made;
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
          await clock.advance(STEP_MS);
          watchPermits(semaphore);
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
      expect(semaphore.adaptation?.latencyMs).toBeGreaterThan(0);
      expect(rooms.occupied).toBe(0);
      expect(semaphore.inUse()).toBe(0);
      expect(semaphore.available()).toBe(semaphore.permits);
      await closesWindows(made);
    },
  );
});
