import { EventEmitter } from 'node:events';
import type { Piscina } from 'piscina';
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { pool as workerpool } from 'workerpool';
import { Semaphore, TokenBucket } from '../../src/index.ts';
import { throttle as throttlePiscina } from '../../src/integrations/piscina.ts';
import { throttle as throttleTinypool } from '../../src/integrations/tinypool.ts';
import { throttled } from '../../src/throttle.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { ABORTED, meeting, POOLS } from '../support/pools.ts';
import { until } from '../support/settled.ts';
import type { PoolAnswer, PoolTask } from '../workers/pool-task.ts';

const NOTHING: PoolTask = { does: 'nothing' };
const CLOSED = { name: 'RateLimitError', code: 'ERR_THROTTLE_CLOSED' };

describe.each(POOLS)('a throttled $name', ({ name, create }) => {
  // docs/integrations.md: "A task takes its token when a thread is free, in order"
  it('starts tasks when their tokens are due, in order', async () => {
    const { clock, limiter } = bucketOf(1000, 1);
    const paced = create().throttle(limiter);
    const order: number[] = [];
    const tasks = [0, 1, 2, 3].map(async (n) => {
      const answer = await paced.run(NOTHING);
      order.push(n);
      return answer;
    });
    for (let done = 1; done < 4; done++) {
      await until(() => paced.stats().completed === done);
      expect(paced.queueSize).toBe(4 - done);
      clock.advance(1);
    }
    expect(await Promise.all(tasks)).toHaveLength(4);
    expect(order).toEqual([0, 1, 2, 3]);
    expect(limiter.balance()).toBe(0);
  });

  it('runs as many tasks at once as a semaphore has permits, with and without a limiter', async () => {
    const { throttle } = create();
    const semaphore = Semaphore.create({ permits: 2 });
    const limiter = TokenBucket.create({ rate: 1e6, burst: 100 });
    for (const paced of [throttle({ semaphore }), throttle(limiter, { semaphore })]) {
      const { gate, task } = meeting(3);
      const busy = [paced.run(task), paced.run(task), paced.run(NOTHING)];
      await until(() => paced.stats().running === 2);
      expect(semaphore.inUse()).toBe(2);
      expect(paced.stats()).toMatchObject({ running: 2, waiting: 1 });
      gate.arrive();
      await Promise.all(busy);
      await until(() => semaphore.inUse() === 0);
    }
  });

  it('returns the permit of a task whose worker dies, without watch', async () => {
    const semaphore = Semaphore.create({ permits: 1 });
    const { pool, throttle } = create();
    pool.on('error', () => undefined);
    const paced = throttle({ semaphore });
    await expect(paced.run({ does: 'dies' })).rejects.toThrow('the worker died');
    // More often than there are threads.
    for (let end = 0; end < 4; end++) {
      await expect(paced.run({ does: 'exits' })).rejects.toThrow(/exit/);
    }
    expect(semaphore.inUse()).toBe(0);
    expect(await paced.run(NOTHING)).toMatchObject({ length: 0 });
    expect(paced.stats()).toMatchObject({ failed: 5, completed: 1, running: 0 });
    expect(pool.threads).toHaveLength(3);
  });

  it('aborts tasks like the pool: before they start, in the queue, and while they run', async () => {
    const { clock, limiter } = bucketOf(1000, 2);
    const { pool, throttle } = create();
    const paced = throttle(limiter);
    const signal = AbortSignal.abort('at once');
    const own = await pool.run(NOTHING, { signal }).catch((error: unknown) => error);
    expect(await paced.run(NOTHING, { signal }).catch((error: unknown) => error)).toEqual(own);
    const { gate, task } = meeting(2);
    const stop = new AbortController();
    const busy = paced.run(task);
    const stopped = paced.run(task, { signal: stop.signal });
    const emitter = new EventEmitter();
    const waiting = paced.run(NOTHING, { signal: emitter });
    emitter.emit('abort');
    await expect(waiting).rejects.toMatchObject(ABORTED);
    expect(emitter.listenerCount('abort')).toBe(0);
    stop.abort('while it runs');
    const error = await stopped.catch((reason: Error) => reason);
    expect(error).toMatchObject(ABORTED);
    // Tinypool drops the reason.
    if (name === 'piscina') expect(error).toMatchObject({ cause: 'while it runs' });
    expect(limiter.balance()).toBe(0);
    clock.advance(1);
    // Its thread was replaced.
    expect(await paced.run(NOTHING)).toMatchObject({ length: 0 });
    gate.arrive();
    gate.arrive();
    await busy;
    expect(paced.stats()).toMatchObject({ aborted: 2, failed: 1, completed: 2 });
  });

  it('refuses a task when the queue is full, and one that cannot start in time', async () => {
    const { clock, limiter } = bucketOf(1000, 1);
    const paced = create().throttle(limiter, { maxQueue: 1, timeoutMs: 5 });
    const tasks = [paced.run(NOTHING), paced.run(NOTHING)];
    await expect(paced.run(NOTHING)).rejects.toMatchObject({
      name: 'RateLimitError',
      code: 'ERR_QUEUE_FULL',
      message: 'the queue is full: maxQueue is 1',
    });
    clock.advance(1);
    await Promise.all(tasks);
    expect(limiter.balance()).toBe(0);
    limiter.charge(100);
    await expect(paced.run(NOTHING)).rejects.toMatchObject({ code: 'ERR_RATE_LIMIT_TIMEOUT' });
    expect(limiter.balance()).toBe(-100);
    expect(paced.stats()).toMatchObject({ refused: 1, timedOut: 1, completed: 2 });
  });

  it('transfers a buffer when the task starts, not while it waits', async () => {
    const { clock, limiter } = bucketOf(1000, 1);
    const paced = create().throttle(limiter);
    await paced.run(NOTHING);
    const bytes = new ArrayBuffer(16);
    const sent = paced.run({ does: 'nothing', bytes }, { transferList: [bytes] });
    await new Promise(setImmediate);
    expect(bytes.byteLength).toBe(16);
    clock.advance(1);
    expect(await sent).toMatchObject({ length: 16 });
    expect(bytes.byteLength).toBe(0);
  });

  it('refuses a signal that cannot be listened to, and leaves no task behind', async () => {
    const { limiter } = bucketOf(1000, 1);
    const paced = create().throttle(limiter);
    await paced.run(NOTHING);
    const wrong: [options: unknown, message: string][] = [
      [{ signal: 7 }, 'signal must be an AbortSignal or an EventEmitter, got 7'],
      [{ signal: {} }, 'signal must be an AbortSignal or an EventEmitter, got an object'],
      [5, 'options must be an object, got 5'],
    ];
    for (const [options, message] of wrong) {
      const refused = paced.run(NOTHING, options as never);
      await expect(refused).rejects.toThrow(new TypeError(message));
    }
    expect([paced.queueSize, limiter.balance()]).toEqual([0, 0]);
  });

  it('rejects with what a task throws, and continues', async () => {
    const { limiter } = bucketOf(1000, 2);
    const paced = create().throttle(limiter);
    await expect(paced.run({ does: 'throws' })).rejects.toThrow(new RangeError('the task threw'));
    expect(await paced.run(NOTHING)).toMatchObject({ length: 0 });
    expect(paced.stats()).toMatchObject({ running: 0, waiting: 0, failed: 1, completed: 1 });
    expect(limiter.balance()).toBe(0);
  });

  it('takes turns between keys, and starts higher priorities first', async () => {
    const { clock, limiter } = bucketOf(1000, 1);
    const started: string[] = [];
    const { throttle } = create();
    const paced = throttle(limiter, {
      key: ({ gate }) => (gate === undefined ? 'a' : 'b'),
      priority: ({ arrivals = 0 }) => arrivals,
      onDelay: ({ does }) => expect(does).toBe('nothing'),
    });
    const run = async (name: string, task: PoolTask) => {
      await paced.run(task);
      started.push(name);
    };
    const gate = new SharedArrayBuffer(8);
    const tasks = [
      ['first', NOTHING],
      ['a1', NOTHING],
      ['a2', NOTHING],
      ['a3', NOTHING],
      ['b1', { ...NOTHING, gate }],
      ['urgent', { ...NOTHING, arrivals: 9 }],
    ].map(([name, task]) => run(name as string, task as PoolTask));
    for (let done = 1; done <= 5; done++) {
      await until(() => started.length === done);
      clock.advance(1);
    }
    await Promise.all(tasks);
    expect(started).toEqual(['first', 'urgent', 'a1', 'b1', 'a2', 'a3']);
  });

  it('closes when the tasks that came before have ended, with its events', async () => {
    const { clock, limiter } = bucketOf(1000, 1);
    const { pool, throttle } = create();
    const paced = throttle(limiter);
    const events: string[] = [];
    const tell = () => events.push('drain');
    paced.on('drain', tell).once('close', () => events.push('close'));
    const tasks = [paced.run(NOTHING), paced.run(NOTHING)];
    expect([paced.queueSize, paced.oldestMs]).toEqual([1, 0]);
    const closed = paced.close();
    await expect(paced.run(NOTHING)).rejects.toMatchObject(CLOSED);
    clock.advance(1);
    expect(await Promise.all(tasks)).toHaveLength(2);
    await closed;
    expect(events).toEqual(['drain', 'close']);
    expect(pool.threads).toEqual([]);
    paced.off('drain', tell);
    await paced.drain();
  });

  it('rejects the waiting tasks at a close that says so', async () => {
    const { limiter } = bucketOf(1000, 1);
    const paced = create().throttle(limiter);
    const tasks = [paced.run(NOTHING), paced.run(NOTHING)];
    const closed = paced.close({ waiting: 'reject' });
    await expect(tasks[1]).rejects.toMatchObject(CLOSED);
    expect(await tasks[0]).toMatchObject({ length: 0 });
    await closed;
    expect(limiter.balance()).toBe(0);
  });

  it('aborts the waiting tasks when the pool ends, and starts no thread again', async () => {
    for (const end of ['destroy', 'close'] as const) {
      const { clock, limiter } = bucketOf(1000, 1);
      const { pool, throttle } = create();
      // Tinypool has no close.
      if (!(end in pool)) continue;
      const paced = throttle(limiter);
      await paced.run(NOTHING);
      const tasks = Array.from({ length: 10 }, () => paced.run(NOTHING));
      // One for each thread: the other tasks are queued.
      await until(() => limiter.balance() === -3);
      const ended = pool[end as 'destroy']();
      for (const task of tasks) await expect(task).rejects.toMatchObject(ABORTED);
      await ended;
      // All tokens were returned.
      expect(limiter.balance()).toBe(0);
      clock.advance(1000);
      await new Promise(setImmediate);
      expect(pool.threads).toEqual([]);
      expect(limiter.balance()).toBe(1);
      expect(paced.stats()).toMatchObject({ running: 0, waiting: 0, aborted: 10, completed: 1 });
    }
  });
});

it('has the types of tasks and results, and names a value that is no pool', () => {
  const { limiter } = bucketOf(1, 1);
  const [piscina, tinypool] = [POOLS[0].create(), POOLS[1].create()];
  const paced = throttlePiscina(piscina.pool, limiter);
  expectTypeOf(paced.run).parameter(0).toEqualTypeOf<PoolTask>();
  expectTypeOf(paced.run).returns.toEqualTypeOf<Promise<PoolAnswer>>();
  expectTypeOf(paced.pool).toEqualTypeOf<Piscina<PoolTask, PoolAnswer>>();
  const mine = throttleTinypool<number, string>(tinypool.pool, { limiter });
  expectTypeOf(mine.run).parameter(0).toEqualTypeOf<number>();
  expectTypeOf(mine.run).returns.toEqualTypeOf<Promise<string>>();
  expectTypeOf(throttleTinypool(tinypool.pool, limiter).run).returns.toEqualTypeOf<
    Promise<unknown>
  >();
  // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
  const anything = (value: unknown) => value as any;
  for (const none of [{}, { run: async () => undefined }, null]) {
    const message = `pool must be a Tinypool, got ${none && 'an object'}`;
    expect(() => throttleTinypool(anything(none), limiter)).toThrow(message);
  }
  expect(() => throttlePiscina(anything({}), limiter)).toThrow(
    new TypeError('pool must be a Piscina, got an object'),
  );
  const wrong: [args: unknown[], error: Error][] = [
    [[{}], new TypeError('options must have a limiter or a semaphore')],
    [[undefined], new TypeError('options must have a limiter or a semaphore')],
    [[null], new TypeError('limiter must be a limiter, got null')],
    [[7], new TypeError('limiter must be a limiter, got 7')],
    [[limiter, null], new TypeError('options must be an object, got null')],
    [
      [limiter, { maxQueue: 1.5 }],
      new RangeError('maxQueue must be an integer at least 0, got 1.5'),
    ],
    [
      [limiter, { timeoutMs: -1 }],
      new RangeError('timeoutMs must be a number at least 0, or Infinity, got -1'),
    ],
  ];
  for (const [[given, options], error] of wrong) {
    expect(() => throttleTinypool(tinypool.pool, anything(given), anything(options))).toThrow(
      error,
    );
  }
  expect(limiter.available()).toBe(1);
});

it('throttles any other pool through its method: workerpool', async () => {
  const { clock, limiter } = bucketOf(1000, 2);
  const pool = workerpool({ maxWorkers: 2 });
  onTestFinished(async () => void (await pool.terminate()));
  const add = (a: number, b: number) => a + b;
  const exec = throttled(pool.exec.bind(pool), { limiter, maxQueue: 1 });
  const tasks = [exec(add, [1, 2]), exec(add, [3, 4]), exec(add, [5, 6])];
  await expect(exec(add, [7, 8])).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  expect(await Promise.all(tasks.slice(0, 2))).toEqual([3, 7]);
  clock.advance(1);
  expect(await tasks[2]).toBe(11);
});
