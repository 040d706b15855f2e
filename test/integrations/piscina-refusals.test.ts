import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { ABORTED, meeting, throttledScene, until } from '../support/throttled.ts';

const NOTHING = { does: 'nothing' } as const;
const TIMEOUT = { code: 'ERR_RATE_LIMIT_TIMEOUT' };

it('refuses a task at once when the queue is full', async () => {
  const { clock, bucket, paced } = throttledScene({ maxQueue: 2 });
  const tasks = [paced.run(NOTHING), paced.run(NOTHING), paced.run(NOTHING)];
  await expect(paced.run(NOTHING)).rejects.toMatchObject({
    name: 'RateLimitError',
    code: 'ERR_QUEUE_FULL',
    message: 'the queue is full: maxQueue is 2',
  });
  expect(paced.stats()).toMatchObject({ refused: 1, waiting: 2 });
  clock.advance(2);
  await Promise.all(tasks);
  expect(bucket.balance()).toBe(0); // three tokens for three tasks
});

it('starts a task now or not at all if none may wait', async () => {
  const { paced } = throttledScene({ burst: 2, maxQueue: 0 });
  const tasks = [paced.run(NOTHING), paced.run(NOTHING)];
  await expect(paced.run(NOTHING)).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  expect(await Promise.all(tasks)).toHaveLength(2);
});

it('refuses a task at once if its token would come too late', async () => {
  const { clock, bucket, paced } = throttledScene({ timeoutMs: 2 });
  const tasks = Array.from({ length: 3 }, () => paced.run(NOTHING));
  await expect(paced.run(NOTHING)).rejects.toMatchObject(TIMEOUT);
  expect(bucket.balance()).toBe(-2);
  expect(paced.stats()).toMatchObject({ timedOut: 1, waiting: 2 });
  clock.advance(2);
  expect(await Promise.all(tasks)).toHaveLength(3);
});

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

it('aborts like the pool itself: before the start, in the queue, and while the task runs', async () => {
  const { bucket, pool, paced } = throttledScene({ burst: 5 });
  const signal = AbortSignal.abort('at once');
  const own = await pool.run(NOTHING, { signal }).catch((error: unknown) => error);
  const ours = await paced.run(NOTHING, { signal }).catch((error: unknown) => error);
  expect(ours).toEqual(own);
  expect(ours).toMatchObject({ ...ABORTED, cause: 'at once' });
  expect(bucket.available()).toBe(5);

  const { gate, task } = meeting(5);
  const stop = new AbortController();
  const busy = [0, 1, 2].map(() => paced.run(task));
  const stopped = paced.run(task, { signal: stop.signal });
  const emitter = new EventEmitter();
  const queued = paced.run(NOTHING, { signal: emitter });
  emitter.emit('abort');
  await expect(queued).rejects.toMatchObject(ABORTED);
  expect(emitter.listenerCount('abort')).toBe(0);
  stop.abort('while it runs');
  await expect(stopped).rejects.toMatchObject({ ...ABORTED, cause: 'while it runs' });
  expect(await paced.run(NOTHING)).toMatchObject({ atUs: 0 }); // the aborted thread was replaced
  expect(bucket.available()).toBe(0);
  expect(paced.stats()).toMatchObject({ running: 3, waiting: 0, aborted: 2, failed: 1 });
  gate.arrive();
  gate.arrive();
  await Promise.all(busy);
});

it.each(['destroy', 'close'] as const)(
  'rejects all waiting tasks when the pool ends: %s',
  async (end) => {
    const { clock, bucket, pool, paced } = throttledScene();
    await paced.run(NOTHING);
    const waiting = Array.from({ length: 10 }, () => paced.run(NOTHING));
    await until(() => bucket.balance() === -4); // one per thread: the other tasks are queued
    const ended = pool[end]();
    for (const task of waiting) await expect(task).rejects.toMatchObject(ABORTED);
    await ended;
    expect(bucket.balance()).toBe(0); // all tokens were returned
    clock.advance(1000);
    await new Promise(setImmediate);
    expect(bucket.available()).toBe(1); // no task takes any more
    expect(pool.threads).toEqual([]); // and none has started the pool again
    expect(paced.stats()).toMatchObject({ running: 0, waiting: 0, aborted: 10, completed: 1 });
  },
);

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
