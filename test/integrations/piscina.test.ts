import { expect, it } from 'vitest';
import { throttle } from '../../src/integrations/piscina.ts';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import { ABORTED, meeting, type Scene, throttledScene } from '../support/pools.ts';
import { Random, SEED } from '../support/random.ts';
import { until } from '../support/settled.ts';
import type { PoolAnswer } from '../workers/pool-task.ts';

const NOTHING = { does: 'nothing' } as const;

/** Waits until all tasks that can start at this instant of the clock have finished. */
async function settled({ bucket, paced }: Scene, threads = 4): Promise<void> {
  await until(() => {
    const { running, waiting } = paced.stats();
    // Up to `threads` waiting tasks have reserved a token; wait until the first one is not yet due.
    const promised = Math.min(threads, waiting);
    return running === 0 && (promised === 0 || bucket.balance() + promised < 0.999);
  });
}

/** Gives all waiting tasks their tokens, one at a time. */
async function finish(scene: Scene): Promise<void> {
  const { bucket, clock, paced } = scene;
  for (;;) {
    await settled(scene);
    if (paced.stats().waiting === 0) return;
    clock.advance(1000 / bucket.rate);
  }
}

function guaranteeOf(started: readonly PoolAnswer[], rate: number, burst: number) {
  const instants = Float64Array.from(started, ({ atUs }) => atUs).sort();
  return checkGuarantee(instants, rate, burst);
}

it(`holds the guarantee in the workers, whatever the arrival of tasks (ZEROTIME_SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  const rate = 500;
  const burst = 4;
  const scene = throttledScene({ rate, burst });
  const { clock, paced } = scene;
  const tasks: Promise<PoolAnswer>[] = [];
  while (tasks.length < 300) {
    for (let n = random.below(12); n > 0; n--) tasks.push(paced.run(NOTHING));
    for (let steps = random.below(15); steps > 0; steps--) {
      await settled(scene);
      clock.advance(2); // only one token comes due, so no thread can wake late
    }
  }
  await finish(scene);
  const started = await Promise.all(tasks);
  const intervals = (tasks.length * (tasks.length + 1)) / 2;
  expect(guaranteeOf(started, rate, burst)).toMatchObject({ held: true, intervals });
  expect(guaranteeOf(started, rate, burst - 0.5).held).toBe(false); // the bursts were really used
  expect(new Set(started.map(({ thread }) => thread)).size).toBeGreaterThan(1);
});

it('takes no tokens ahead while all threads are busy', async () => {
  const scene = throttledScene({ burst: 5 });
  const { bucket, clock, paced } = scene;
  const { gate, task } = meeting(5);
  const busy = Array.from({ length: 4 }, () => paced.run(task));
  const tasks = Array.from({ length: 50 }, () => paced.run(NOTHING));
  clock.advance(10_000);
  expect(bucket.available()).toBe(5);
  expect(paced.stats()).toMatchObject({ running: 4, waiting: 50 });
  gate.arrive();
  await Promise.all(busy);
  await settled(scene);
  expect(paced.stats()).toMatchObject({ completed: 9, waiting: 45 });
  await finish(scene);
  await Promise.all(tasks);
});

it('uses all threads of a pool that grows, shrinks and grows again', async () => {
  const { clock, pool, paced } = throttledScene({ burst: 4, minThreads: 1, idleTimeout: 1 });
  const meet = async () => {
    const { task } = meeting(4);
    const started = await Promise.all(Array.from({ length: 4 }, () => paced.run(task)));
    expect(new Set(started.map(({ thread }) => thread)).size).toBe(4);
  };
  await meet();
  await until(() => pool.threads.length === 1);
  clock.advance(4);
  await meet();
  pool.options.maxThreads = 1;
  await until(() => pool.threads.length === 1);
  clock.advance(4);
  const { gate, task } = meeting(2);
  const tasks = [paced.run(task), paced.run(task)];
  expect(paced.stats()).toMatchObject({ running: 1, waiting: 1 });
  gate.arrive();
  expect(await Promise.all(tasks)).toHaveLength(2);
});

it('limits several pools by one limiter', async () => {
  const one = throttledScene();
  const two = throttledScene();
  const other = throttle(two.pool, one.bucket);
  const tasks = [one.paced, other].flatMap((paced) => [0, 1, 2].map(() => paced.run(NOTHING)));
  await until(() => one.bucket.balance() === -5);
  for (let ms = 1; ms <= 5; ms++) {
    one.clock.advance(1);
    await until(() => one.paced.stats().completed + other.stats().completed === ms + 1);
  }
  expect(await Promise.all(tasks)).toHaveLength(6);
});

const TIMEOUT = { code: 'ERR_RATE_LIMIT_TIMEOUT' };

it('refuses a task that got no thread in time, without taking a token', async () => {
  const { clock, bucket, paced } = throttledScene({ burst: 10, timeoutMs: 5 });
  const { gate, task } = meeting(5);
  const busy = Array.from({ length: 4 }, () => paced.run(task));
  const late = paced.run(NOTHING);
  clock.advance(4.9);
  expect(paced.stats().waiting).toBe(1);
  clock.advance(0.1);
  await expect(late).rejects.toMatchObject(TIMEOUT);
  expect(bucket.available()).toBe(10); // 4 were taken, 5 came
  gate.arrive();
  await Promise.all(busy);
  expect(await paced.run(NOTHING)).toMatchObject({ atUs: 5000 });
});

it('returns the token of an aborted task if it was the last one reserved', async () => {
  const { clock, bucket, paced } = throttledScene();
  const [first, second] = [new AbortController(), new AbortController()];
  await paced.run(NOTHING);
  const tasks = [first, second].map(({ signal }) => paced.run(NOTHING, { signal }));
  await until(() => bucket.balance() === -2);
  second.abort('changed my mind');
  await expect(tasks[1]).rejects.toMatchObject({ ...ABORTED, cause: 'changed my mind' });
  expect(bucket.balance()).toBe(-1);
  expect(bucket.reserve()?.waitMs).toBe(2);
  first.abort('too late'); // a later reservation depends on it
  await expect(tasks[0]).rejects.toMatchObject(ABORTED);
  expect(bucket.balance()).toBe(-2);
  expect(paced.stats()).toMatchObject({ waiting: 0, aborted: 2, completed: 1 });
  clock.advance(3);
  expect(await paced.run(NOTHING)).toMatchObject({ atUs: 3000 });
});

it('rejects running and waiting tasks when the pool is destroyed half-way', async () => {
  const { bucket, pool, paced } = throttledScene({ burst: 10 });
  const { task } = meeting(5);
  const tasks = Array.from({ length: 10 }, () => paced.run(task));
  expect(paced.stats()).toMatchObject({ running: 4, waiting: 6 });
  await Promise.all([pool.destroy(), Promise.allSettled(tasks)]);
  await expect(tasks[0]).rejects.toThrow('Terminating worker thread');
  await expect(tasks[9]).rejects.toMatchObject(ABORTED);
  expect(paced.stats()).toMatchObject({ running: 0, waiting: 0, failed: 4, aborted: 6 });
  expect(bucket.available()).toBe(6); // the queued tasks took none
});
