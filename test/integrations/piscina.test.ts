import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { throttle } from '../../src/integrations/piscina.ts';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import { Random, SEED } from '../support/random.ts';
import { meeting, type Scene, throttledScene, until } from '../support/throttled.ts';
import type { Started } from '../workers/throttled-task.ts';

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

function guaranteeOf(started: readonly Started[], rate: number, burst: number) {
  const instants = Float64Array.from(started, ({ atUs }) => atUs).sort();
  return checkGuarantee(instants, rate, burst);
}

it('starts each task at the instant at which its token is due', async () => {
  const { clock, paced } = throttledScene({ burst: 3 });
  const tasks = Array.from({ length: 8 }, () => paced.run(NOTHING));
  const started = await Promise.all(tasks.slice(0, 3));
  for (let i = 3; i < 8; i++) {
    expect(paced.stats()).toMatchObject({ completed: i, waiting: 8 - i });
    clock.advance(1);
    started.push(await (tasks[i] as Promise<Started>));
  }
  expect(started.map(({ atUs }) => atUs / 1000)).toEqual([0, 0, 0, 1, 2, 3, 4, 5]);
});

it(`holds the guarantee in the workers, whatever the arrival of tasks (ZEROTIME_SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  const rate = 500;
  const burst = 4;
  const scene = throttledScene({ rate, burst });
  const { clock, paced } = scene;
  const tasks: Promise<Started>[] = [];
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

// docs/integrations.md: "A task takes its token when a thread is free, in order"
it('starts tasks in order of arrival, and removes its abort listeners', async () => {
  const { bucket, clock, paced } = throttledScene();
  const emitter = new EventEmitter();
  await paced.run(NOTHING);
  const first = paced.run(NOTHING, { signal: emitter });
  await until(() => bucket.balance() === -1);
  clock.advance(5); // the first task has its token, and one more is available
  const second = paced.run(NOTHING);
  expect(paced.stats()).toMatchObject({ running: 2, waiting: 0 });
  expect(await Promise.all([first, second])).toHaveLength(2);
  expect(emitter.listenerCount('abort')).toBe(0);
});

it('rejects with what a task throws, and continues', async () => {
  const scene = throttledScene();
  const { bucket, paced } = scene;
  const tasks = Array.from({ length: 20 }, (_, i) =>
    paced.run({ does: i % 2 === 0 ? 'throws' : 'nothing' }),
  );
  const settling = Promise.allSettled(tasks); // handles rejections while the clock moves
  await finish(scene);
  const ends = await settling;
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  await expect(tasks[0]).rejects.toThrow(new RangeError('the task threw'));
  expect(paced.stats()).toMatchObject({ running: 0, waiting: 0, completed: 10, failed: 10 });
  expect(bucket.balance()).toBeLessThan(1.001); // a task that threw has used its token
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

it('also works in reverse: tasks wait for the shared limiter in their worker', async () => {
  const { clock, bucket, pool } = throttledScene({ burst: 2 });
  const tasks = Array.from({ length: 6 }, () => pool.run({ does: 'waits' }));
  await until(() => bucket.balance() === -4);
  for (let ms = 1; ms <= 4; ms++) {
    clock.advance(1);
    await until(() => pool.completed === 2 + ms);
  }
  const started = await Promise.all(tasks);
  expect(started.map(({ atUs }) => atUs / 1000).sort()).toEqual([0, 0, 1, 2, 3, 4]);
});

it('names the invalid argument', async () => {
  const { pool, bucket, paced } = throttledScene();
  // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
  const anything = (value: unknown) => value as any;
  expect(() => throttle(anything({}), bucket)).toThrow(
    new TypeError('pool must be a Piscina, got an object'),
  );
  expect(() => throttle(pool, anything(7))).toThrow(
    new TypeError('limiter must be a limiter, got 7'),
  );
  expect(() => throttle(pool, bucket, anything(null))).toThrow(
    new TypeError('options must be an object, got null'),
  );
  expect(() => throttle(pool, bucket, { maxQueue: 1.5 })).toThrow(
    new RangeError('maxQueue must be an integer at least 0, got 1.5'),
  );
  expect(() => throttle(pool, bucket, { timeoutMs: -1 })).toThrow(
    new RangeError('timeoutMs must be a number at least 0, or Infinity, got -1'),
  );
  await expect(paced.run(NOTHING, { signal: anything(7) })).rejects.toThrow(
    new TypeError('signal must be an AbortSignal or an EventEmitter, got 7'),
  );
  expect(bucket.available()).toBe(1);
});
