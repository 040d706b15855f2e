import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { FixedWindow, ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { throttle } from '../../src/integrations/tinypool.ts';
import { throttled } from '../../src/throttle.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { poolHere } from '../support/pools.ts';
import { settled, withResolvers } from '../support/settled.ts';

const PERMIT_MS = 10;

/** Runs a function that needs a permit for 10 ms, back to back, and counts its calls. */
function busy(semaphore: Semaphore, clock: ManualClock) {
  const work = throttled(() => clock.sleep(clock.now() + PERMIT_MS * 1000), { semaphore });
  const again = async (): Promise<void> => {
    await work();
    return again();
  };
  again();
  return () => work.stats().completed;
}

async function run(clock: ManualClock, ms: number, each: () => void = () => undefined) {
  for (let passed = 0; passed < ms; passed++) {
    await settled(30);
    each();
    clock.advance(1);
  }
  await settled(30);
}

const perSecond = (rate: number, clock: ManualClock) =>
  TokenBucket.create({ rate, burst: 1, initial: 0, clock });

describe.each([
  ['5 a second', (clock: ManualClock) => perSecond(5, clock), 9],
  ['one a minute', (clock: ManualClock) => perSecond(1 / 60, clock), 0],
  [
    'a window of 5',
    (clock: ManualClock) => FixedWindow.create({ limit: 5, intervalMs: 1000, clock }),
    10,
  ],
  [
    'a pause',
    (clock: ManualClock) => TokenBucket.create({ rate: 0, burst: 1, initial: 0, clock }),
    0,
  ],
])('a throttled function with %s', (_, limiterOf, expected) => {
  it('leaves a shared permit to others while it waits for its tokens', async () => {
    const clock = ManualClock.create();
    const semaphore = Semaphore.create({ permits: 1, clock });
    let started = 0;
    const slow = throttled(() => void started++, { limiter: limiterOf(clock), semaphore });
    const calls = Array.from({ length: 100 }, () => slow());
    const others = busy(semaphore, clock);
    await run(clock, 1999);
    expect(started).toBe(expected);
    expect(others()).toBeGreaterThanOrEqual(199);
    await Promise.allSettled([slow.close({ waiting: 'reject' }), ...calls]);
  });
});

it('ten functions at one a second hold none of ten permits, and lose no token', async () => {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: 10, clock });
  const functions = Array.from({ length: 10 }, () =>
    throttled(() => undefined, { limiter: perSecond(1, clock), semaphore }),
  );
  const calls = functions.flatMap((call) => [call(), call(), call(), call()]);
  await run(clock, 3000, () => expect(semaphore.inUse()).toBe(0));
  expect(functions.map((call) => call.stats().completed)).toEqual(Array(10).fill(3));
  await run(clock, 999);
  clock.advance(1);
  await settled(1); // all look in one turn
  expect(functions.map((call) => call.queueSize)).toEqual(Array(10).fill(0));
  await Promise.all(calls);
});

it('a throttled pool holds no permit while its tasks wait for tokens', async () => {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: 2, clock });
  const pool = poolHere(4, async () => undefined);
  const paced = throttle(pool, { limiter: perSecond(5, clock), semaphore });
  const tasks = Array.from({ length: 10 }, () => paced.run({}));
  await run(clock, 2000, () => expect(semaphore.inUse()).toBe(0));
  expect(paced.stats().completed).toBe(10);
  await Promise.all(tasks);
});

it.each([
  ['no semaphore', undefined],
  ['as many permits', 6],
])(
  'a throttled pool with %s starts as many tasks as fit, and tells of the others',
  async (_, permits) => {
    const pool = poolHere(2, () => new Promise(() => undefined));
    Object.assign(pool.options, { concurrentTasksPerWorker: 3 });
    const { clock, limiter } = bucketOf(1, 100);
    const semaphore = permits === undefined ? undefined : Semaphore.create({ permits, clock });
    const onDelay = vi.fn();
    const paced = throttle(pool, limiter, { semaphore, onDelay });
    for (let task = 0; task < 8; task++) paced.run(task);
    expect(paced.stats()).toMatchObject({ running: 6, waiting: 2 });
    expect(onDelay.mock.calls).toEqual([[6], [7]]);
    await settled(4);
    expect(semaphore?.waiting ?? 0).toBe(0); // both lack threads
  },
);

it.each([
  ['its close', { close: async () => undefined }, ['close', 'drain', 'closed']],
  ['destroy, without a close', {}, ['destroy', 'drain', 'closed']],
  ['destroy, if close is no method', { close: 5 }, ['destroy', 'drain', 'closed']],
])('a throttled pool is ended by %s', async (_, more, expected) => {
  const ends: string[] = [];
  const pool = Object.assign(
    poolHere(1, async () => undefined),
    more,
  );
  for (const name of ['close', 'destroy'] as const) {
    if (typeof pool[name as never] === 'function') {
      Object.assign(pool, { [name]: async () => void ends.push(name) });
    }
  }
  const clock = ManualClock.create();
  const paced = throttle(pool, perSecond(1000, clock));
  const never = vi.fn();
  paced.once('drain', () => ends.push('drain')).on('close', () => ends.push('closed'));
  paced.on('drain', never).off('drain', never);
  const idle = throttle(
    poolHere(1, async () => undefined),
    perSecond(1, clock),
  );
  await idle.on('drain', never).close({ waiting: 'reject' });
  const signal = new EventEmitter();
  const task = paced.run({}, { signal } as never);
  const closed = paced.close();
  clock.advance(1);
  await Promise.all([task, closed]);
  expect(signal.listenerCount('abort')).toBe(0);
  expect(ends.sort()).toEqual([...expected].sort());
  expect(never).not.toHaveBeenCalled();
});

it('tells a pool that has ended why its tasks are aborted', async () => {
  const pool = poolHere(0, async () => undefined);
  const run = vi.spyOn(pool, 'run');
  const waiting = throttle(pool, perSecond(1, ManualClock.create())).run({});
  await pool.destroy();
  await waiting;
  expect(run.mock.calls[0]?.[1]?.signal).toMatchObject({ reason: 'the pool is closed' });
});

it('starts in turn though others always wait for permits and for tokens', async () => {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: 1, clock });
  const limiter = perSecond(100, clock);
  const others = busy(semaphore, clock);
  const waits = [];
  // Callers that need no permit keep the bucket 100 ms in debt.
  const ask = async (): Promise<void> => {
    await limiter.wait();
    return ask();
  };
  for (let n = 0; n < 10; n++) waits.push(ask());
  const call = throttled(() => undefined, { limiter, semaphore });
  const calls = Array.from({ length: 100 }, () => call());
  await run(clock, 2000);
  // One token in eleven; then the permit in its turn, at most 20 ms later.
  expect(call.stats().completed).toBeGreaterThanOrEqual(15);
  expect(call.stats().completed).toBeLessThanOrEqual(19);
  expect(others()).toBeGreaterThanOrEqual(195);
  await Promise.allSettled([call.close({ waiting: 'reject' }), ...calls]);
});

it('keeps one token while it waits for a permit, if others want tokens too', async () => {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: 1, clock });
  const limiter = perSecond(1000, clock);
  const held = await semaphore.acquire();
  const call = throttled(() => undefined, { limiter, semaphore });
  const calls = [call(), call(), call()];
  expect(limiter.balance()).toBe(0); // no token is promised to calls without a permit
  await run(clock, 100);
  // The permit comes first: a caller that needs none finds the token.
  expect(limiter.available()).toBe(1);
  held.release();
  await run(clock, 3);
  expect(call.stats().completed).toBe(3);
  await Promise.all(calls);
});

it('asks for permits when its tokens are due and others hold all', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const semaphore = Semaphore.create({ permits: 4, holdMs: 50, clock });
  const call = throttled((n: number) => n, { limiter, semaphore });
  await call(0);
  const calls = [1, 2, 3, 4].map((n) => call(n));
  expect(semaphore.inUse()).toBe(0);
  await settled(4);
  expect(semaphore.inUse()).toBe(0);
  const others = [1, 2, 3, 4].map(() => semaphore.acquire());
  for (const permit of await Promise.all(others)) {
    clock.advance(10);
    await settled(4);
    permit.release();
  }
  await settled(4);
  expect(call.queueSize).toBe(0);
  expect(await Promise.all(calls)).toEqual([1, 2, 3, 4]);
  expect(semaphore.inUse()).toBe(0);
});

it('keeps a due token while others hold all permits, if someone has reserved a later one', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const semaphore = Semaphore.create({ permits: 1, clock });
  const call = throttled((n: number) => n, { limiter, semaphore });
  expect(await call(0)).toBe(0);
  const next = call(1);
  const held = await semaphore.acquire();
  limiter.reserve(1);
  for (const ms of [1, 10]) {
    clock.advance(ms);
    await settled(4);
  }
  limiter.charge(100);
  const reads = vi.spyOn(clock, 'now');
  await settled(20);
  expect(reads).not.toHaveBeenCalled(); // only a permit matters now
  held.release();
  await settled(4);
  expect(call.queueSize).toBe(0);
  expect(await next).toBe(1);
});

it('starts the holdMs of a permit when its call starts, however long the token takes', async () => {
  const { clock, limiter } = bucketOf(1, 1);
  const semaphore = Semaphore.create({ permits: 1, holdMs: 50, clock });
  const call = throttled((n: number) => n, { limiter, semaphore });
  expect(await call(1)).toBe(1);
  const second = call(2);
  await settled();
  clock.advance(1000);
  expect(await second).toBe(2);
  expect(semaphore.inUse()).toBe(0);
});

it('rejects a call that held its permit for longer than holdMs', async () => {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: 1, holdMs: 50, clock });
  const call = throttled(() => clock.advance(60), { semaphore });
  await expect(call()).rejects.toMatchObject({ code: 'ERR_PERMIT_EXPIRED' });
});

it('looks when the next token is due after it returned tokens promised ahead', async () => {
  const { clock, limiter } = bucketOf(10_000, 1);
  const semaphore = Semaphore.create({ permits: 2, clock });
  const { promise, resolve } = withResolvers();
  const call = throttled((n: number) => (n < 2 ? promise : n), { limiter, semaphore });
  const calls = [0, 1, 2, 3, 4].map((n) => call(n));
  await settled(4);
  for (const ms of [0.1, 0.4, 20]) {
    clock.advance(ms);
    await settled(4);
  }
  limiter.charge(100);
  resolve();
  await settled(4);
  expect(call.stats()).toMatchObject({ completed: 2, waiting: 3 });
  for (let ms = 0; ms < 40; ms++) {
    clock.advance(1);
    await settled(4);
  }
  expect(call.queueSize).toBe(0);
  await Promise.all(calls);
});

it('refuses no call because the token of another call would come too late', async () => {
  const clock = ManualClock.create();
  const limiter = FixedWindow.create({ limit: 1, intervalMs: 10, clock });
  const stop = new AbortController();
  const call = throttled((n: number) => n, {
    limiter,
    timeoutMs: 12,
    signal: (n) => (n === 1 ? stop.signal : undefined),
  });
  expect(limiter.tryConsume()).toBe(true);
  const first = call(1);
  await settled(4);
  clock.advance(9);
  const second = call(2);
  const end = second.catch((error: unknown) => error);
  stop.abort('enough');
  await expect(first).rejects.toBe('enough');
  clock.advance(1);
  expect(limiter.tryConsume()).toBe(true); // by another thread
  await settled(4);
  expect(call.queueSize).toBe(1);
  clock.advance(10);
  expect(await end).toBe(2);
});

it('lets no call wait if onDelay closes', async () => {
  const { limiter } = bucketOf(1, 1);
  const call: (() => Promise<number>) & { close(): Promise<void>; queueSize: number } = throttled(
    () => 1,
    { limiter, onDelay: () => void call.close() },
  );
  await call();
  await expect(call()).rejects.toMatchObject({ code: 'ERR_THROTTLE_CLOSED' });
  expect(call.queueSize).toBe(0);
});

it('keeps the queue within maxQueue if onDelay calls again', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const inner: Promise<number>[] = [];
  const call: ((n: number) => Promise<number>) & { queueSize: number } = throttled(
    (n: number) => n,
    {
      limiter,
      maxQueue: 1,
      onDelay: (n) => {
        if (n === 1) inner.push(call(2));
      },
    },
  );
  await call(0);
  await expect(call(1)).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  expect(call.queueSize).toBe(1);
  clock.advance(1);
  expect(await Promise.all(inner)).toEqual([2]);
});

it.each([
  ['aborted', 1, 0],
  ['started', 3, 2],
])('keeps nothing for a call that the limiter has %s itself', async (what, permits, completed) => {
  const { clock, limiter: bucket } = bucketOf(1, 10);
  const semaphore = Semaphore.create({ permits, clock });
  const wait = () => bucket.wait();
  const returnTokens = (n: number) => bucket.returnTokens(n);
  const abort = new AbortController();
  const results: Promise<unknown>[] = [];
  const call = () => void results.push(work().catch(({ name }: Error) => name));
  let meddle = () => {};
  const tryConsume = () => {
    const once = meddle;
    meddle = () => {};
    once();
    return bucket.tryConsume();
  };
  const limiter = { clock, wait, returnTokens, tryConsume };
  const work = throttled(() => 1, { limiter, semaphore, signal: () => abort.signal });
  const held = await Promise.all(Array.from({ length: permits }, () => semaphore.acquire()));
  call();
  await settled();
  meddle = what === 'aborted' ? () => abort.abort() : call;
  for (const permit of held) permit.release();
  await settled(30);
  expect(await Promise.all(results)).toEqual(what === 'aborted' ? ['AbortError'] : [1, 1]);
  expect(semaphore.available()).toBe(permits);
  expect([bucket.available(), work.stats().completed]).toEqual([10 - completed, completed]);
});
