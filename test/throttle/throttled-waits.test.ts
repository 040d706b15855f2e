import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { expect, it, vi } from 'vitest';
import {
  FixedWindow,
  ManualClock,
  RateLimitError,
  Semaphore,
  SlidingLog,
  TokenBucket,
} from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { settled, until, withResolvers } from '../support/settled.ts';

const TIMEOUT = { name: 'RateLimitError', code: 'ERR_RATE_LIMIT_TIMEOUT' };

it('refuses a call when the queue is full, without a token or a permit', async () => {
  const { clock, limiter } = bucketOf(100, 1);
  const semaphore = Semaphore.create({ permits: 3, clock });
  const call = throttled((n: number) => n, { limiter, semaphore, maxQueue: 1 });
  const calls = [call(1), call(2)];
  await expect(call(3)).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  expect(limiter.balance()).toBe(-1); // one ran, one has its token promised
  clock.advance(10);
  expect(await Promise.all(calls)).toEqual([1, 2]);
  expect([limiter.balance(), semaphore.inUse()]).toEqual([0, 0]);
  expect(call.stats()).toMatchObject({ refused: 1, completed: 2 });
});

it('refuses calls that cannot start within timeoutMs: at once or at their deadline', async () => {
  const { clock, limiter } = bucketOf(100, 1);
  const sleep = vi.spyOn(clock, 'sleep');
  const call = throttled((n: number) => n, { limiter, timeoutMs: 15 });
  const calls = [call(1), call(2), call(3), call(4)];
  for (const late of calls.slice(2)) late.catch(() => undefined);
  await settled();
  // A deadline may be late by the slack of a timer.
  expect(sleep.mock.calls.map(([atUs, options]) => [atUs, options?.precise])).toEqual([
    [10_000, undefined],
    [15_000, false],
  ]);
  clock.advance(10);
  expect(await Promise.all(calls.slice(0, 2))).toEqual([1, 2]);
  clock.advance(5);
  for (const late of calls.slice(2)) await expect(late).rejects.toMatchObject(TIMEOUT);
  expect(limiter.balance()).toBe(0.5); // two tokens for two calls
  expect(call.stats()).toMatchObject({ completed: 2, timedOut: 2 });
  const onDelay = vi.fn();
  const none = throttled((n: number) => n, { limiter, timeoutMs: 0, onDelay });
  await expect(none(1)).rejects.toMatchObject(TIMEOUT);
  expect(limiter.balance()).toBe(0.5);
  expect(onDelay).not.toHaveBeenCalled(); // it does not wait
});

it('aborts waiting calls without taking a token or a permit, wherever they stand', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const semaphore = Semaphore.create({ permits: 9, clock });
  const signals = [0, 1, 2, 3].map(() => new AbortController());
  const started: number[] = [];
  const call = throttled((n: number) => void started.push(n), {
    limiter,
    semaphore,
    signal: (n) => signals[n]?.signal,
  });
  const calls = [0, 1, 2, 3].map((n) => call(n));
  await settled();
  signals[1]?.abort('first in the queue'); // the last token returns
  expect(limiter.balance()).toBe(-2);
  await expect(calls[1]).rejects.toBe('first in the queue');
  clock.advance(1);
  await calls[2];
  signals[3]?.abort('last in the queue');
  await expect(calls[3]).rejects.toBe('last in the queue');
  expect(started).toEqual([0, 2]);
  expect([limiter.balance(), semaphore.inUse(), semaphore.waiting]).toEqual([0, 0, 0]);
  await expect(call(1)).rejects.toBe('first in the queue');
  expect(call.stats()).toMatchObject({ aborted: 3, completed: 2 });
});

it('aborts all calls by one signal, and those that come later', async () => {
  const { clock, limiter } = bucketOf(1, 1);
  const stop = new AbortController();
  const call = throttled(() => 1, { limiter, signal: stop.signal });
  const calls = [call(), call(), call()];
  stop.abort(new Error('stopped'));
  const ends = await Promise.allSettled(calls);
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  clock.advance(1000);
  await expect(call()).rejects.toThrow('stopped');
  expect(limiter.balance()).toBe(1);
});

it('leaves the queue of the semaphore when no call waits any more', async () => {
  const semaphore = Semaphore.create({ permits: 1 });
  const permit = await semaphore.acquire();
  const stop = new AbortController();
  const call = throttled(() => 1, { semaphore, signal: stop.signal });
  const waiting = call();
  await until(() => semaphore.waiting === 1);
  stop.abort('enough');
  await expect(waiting).rejects.toBe('enough');
  await until(() => semaphore.waiting === 0);
  permit.release();
  expect(semaphore.available()).toBe(1);
});

it('keeps its place in the queue of the semaphore while another call waits', async () => {
  const semaphore = Semaphore.create({ permits: 1 });
  const permit = await semaphore.acquire();
  const stop = new AbortController();
  const call = throttled((n: number) => n, {
    semaphore,
    signal: (n) => (n === 2 ? stop.signal : undefined),
  });
  const calls = [call(1), call(2)];
  await until(() => semaphore.waiting === 1);
  const later = semaphore.acquire();
  stop.abort('enough');
  await expect(calls[1]).rejects.toBe('enough');
  permit.release();
  expect(await Promise.race([calls[0], later])).toBe(1);
  (await later).release();
});

it.each([
  [2, 100],
  [600, 1_000_000],
])(
  'starts %d late calls whose tokens were due, though their deadlines have passed',
  async (count, rate) => {
    const { clock, limiter } = bucketOf(rate, 1);
    const call = throttled((n: number) => n, { limiter, timeoutMs: 15 });
    const calls = Array.from({ length: count }, (_, n) => call(n));
    clock.advance(20);
    expect(await Promise.all(calls)).toEqual(calls.map((_, n) => n));
  },
);

it.each([
  [
    'limiter cannot reserve',
    (clock: ManualClock) => {
      const limiter = SlidingLog.create({ limit: 1, intervalMs: 10, clock });
      limiter.tryConsume();
      return { bounds: { limiter }, free: () => clock.advance(10) };
    },
  ],
  [
    'semaphore has no permit',
    (clock: ManualClock) => {
      const semaphore = Semaphore.create({ permits: 1, clock });
      const permit = semaphore.tryAcquire();
      return { bounds: { semaphore }, free: () => permit?.release() };
    },
  ],
] as const)('fails no call because of one that was aborted, if the %s', async (_, create) => {
  const { bounds, free } = create(ManualClock.create());
  const stop = new AbortController();
  const call = throttled((n: number) => n, {
    ...bounds,
    signal: (n) => (n === 1 ? stop.signal : undefined),
  });
  const first = call(1);
  stop.abort('enough');
  const second = call(2);
  await expect(first).rejects.toBe('enough');
  await settled();
  free();
  expect(await second).toBe(2);
});

it('removes its listeners when a call starts', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const { signal } = new AbortController();
  const call = throttled(() => 1, { limiter, signal });
  const calls = [call(), call()];
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  clock.advance(1);
  await Promise.all(calls);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('overtakes no call that waits or is about to begin, even if tokens are available', async () => {
  const { clock, limiter } = bucketOf(100, 5);
  limiter.charge(5);
  const started: number[] = [];
  const call = throttled((n: number) => void started.push(n), { limiter });
  const calls = [call(1)];
  await settled();
  clock.advance(100); // nobody has looked yet
  calls.push(call(2), call(3)); // before the third, the others have started
  await settled();
  expect(started).toEqual([1, 2, 3]);
  await Promise.all(calls);
});

it.each(['limiter', 'semaphore', 'both'] as const)(
  'each call sees the AsyncLocalStorage of its own caller (%s)',
  async (bounds) => {
    const storage = new AsyncLocalStorage<string>();
    const limiter = TokenBucket.create({ rate: 200, burst: 1 });
    const semaphore = Semaphore.create({ permits: 1 });
    const both = { limiter, semaphore };
    const options = bounds === 'both' ? both : { [bounds]: both[bounds] };
    const call = throttled(async () => {
      const before = storage.getStore();
      await new Promise((resolve) => setTimeout(resolve, 2));
      return [before, storage.getStore()];
    }, options);
    const callers = ['ann', 'bob', 'cid', 'dan'];
    const seen = await Promise.all(callers.map((name) => storage.run(name, () => call())));
    expect(seen).toEqual(callers.map((name) => [name, name]));
  },
);

it('refuses at once a call whose token is certain to come too late, and takes nothing', async () => {
  const clock = ManualClock.create();
  const limiters = [
    TokenBucket.create({ rate: 100, burst: 1, clock }),
    FixedWindow.create({ limit: 1, intervalMs: 10, clock }),
  ];
  for (const limiter of limiters) {
    const semaphore = Semaphore.create({ permits: 3, clock });
    const started: number[] = [];
    const call = throttled((n: number) => void started.push(n), {
      limiter,
      semaphore,
      timeoutMs: 5,
    });
    await call(1);
    await expect(call(2)).rejects.toMatchObject(TIMEOUT);
    expect([call.queueSize, semaphore.inUse()]).toEqual([0, 0]);
    clock.advance(10);
    expect(limiter.available()).toBe(1);
    await settled();
    expect(started).toEqual([1]);
  }
});

it('keeps its place in the order of the limiter for calls that come later', async () => {
  const { clock, limiter } = bucketOf(100, 1);
  const call = throttled((n: number) => n, { limiter, timeoutMs: 25 });
  const calls = [call(0), call(1), call(2), call(3)];
  limiter.charge(3);
  clock.advance(10);
  expect(await calls[1]).toBe(1);
  // The next token is due at 50 ms: too late for both, but others may come.
  expect([call.queueSize, limiter.balance()]).toEqual([2, -4]);
  clock.advance(10);
  calls.push(call(4));
  limiter.reserve(1);
  clock.advance(10);
  for (const late of calls.slice(2, 4)) await expect(late).rejects.toMatchObject(TIMEOUT);
  calls.push(call(5));
  clock.advance(15);
  await expect(calls[4]).rejects.toMatchObject(TIMEOUT);
  clock.advance(5);
  expect(await calls[5]).toBe(5);
});

it.each([
  ['that has not come', SlidingLog, 0, 0],
  ['that a window takes back', FixedWindow, 10, 1],
  ['that a log cannot take back', SlidingLog, 10, 0],
] as const)(
  'a call without a permit and with a token %s can be aborted',
  async (_, kind, ms, back) => {
    const clock = ManualClock.create();
    const limiter = kind.create({ limit: 1, intervalMs: 10, clock });
    const semaphore = Semaphore.create({ permits: 1, clock });
    const stop = new AbortController();
    const call = throttled(() => 1, { limiter, semaphore, signal: stop.signal });
    limiter.tryConsume();
    const waiting = call();
    const held = await semaphore.acquire();
    clock.advance(ms);
    await settled();
    expect([limiter.available(), call.queueSize]).toEqual([0, 1]);
    stop.abort('enough');
    await expect(waiting).rejects.toBe('enough');
    await settled();
    expect([limiter.available(), limiter.waiting]).toEqual([back, 0]);
    held.release();
  },
);

it.each([
  [new Error('lost'), 1000, 'failed'],
  [new RateLimitError('ERR_RATE_LIMIT_TIMEOUT', 'lost'), undefined, 'timedOut'],
])(
  'fails the first call if a limiter that cannot reserve fails (%s), and asks it for the next',
  async (lost, timeoutMs, outcome) => {
    const waits: ReturnType<typeof withResolvers<void>>[] = [];
    const limiter = {
      clock: ManualClock.create(),
      tryConsume: () => false,
      wait: () => {
        const wait = withResolvers();
        waits.push(wait);
        return wait.promise;
      },
    };
    const call = throttled((n: number) => n, { limiter, ...(timeoutMs && { timeoutMs }) });
    const calls = [call(1), call(2)];
    waits[0]?.reject(lost);
    await expect(calls[0]).rejects.toThrow('lost');
    expect(waits).toHaveLength(2);
    waits[1]?.resolve();
    expect(await calls[1]).toBe(2);
    expect(call.stats()).toMatchObject({ [outcome]: 1, completed: 1, waiting: 0 });
  },
);

it('moves waiting calls when the limit changes', async () => {
  const { clock, limiter } = bucketOf(1, 1);
  const call = throttled((n: number) => n, { limiter });
  const calls = [call(1), call(2), call(3)];
  await settled();
  limiter.reconfigure({ rate: 1000 });
  await settled();
  clock.advance(2);
  expect(await Promise.all(calls)).toEqual([1, 2, 3]);
});

it('rejects calls that the limiter can never admit', async () => {
  const limiter = TokenBucket.create({ rate: 1, burst: 0.5, clock: ManualClock.create() });
  const call = throttled(() => 1, { limiter });
  await expect(call()).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
  expect(call.stats()).toMatchObject({ failed: 1, waiting: 0 });
});

it('runs as many calls at once as there are permits, and takes no token that is there before its permit', async () => {
  const { clock, limiter } = bucketOf(1000, 5);
  const semaphore = Semaphore.create({ permits: 2, clock });
  const answers = [withResolvers(), withResolvers(), withResolvers()];
  const call = throttled((n: number) => answers[n]?.promise, { limiter, semaphore });
  const calls = [0, 1, 2].map((n) => call(n));
  await settled();
  expect([semaphore.inUse(), limiter.available()]).toEqual([2, 3]); // the third took no token
  expect(call.stats()).toMatchObject({ running: 2, waiting: 1 });
  answers[0]?.resolve();
  await calls[0];
  await until(() => call.stats().running === 2);
  expect([semaphore.inUse(), limiter.available()]).toEqual([2, 2]);
  let isDrained = false;
  const drained = call.drain().then(() => {
    isDrained = true;
  });
  answers[1]?.resolve();
  await calls[1];
  await settled();
  expect(isDrained).toBe(false); // one runs
  answers[2]?.resolve();
  await drained;
  expect(semaphore.inUse()).toBe(0);
});

it('returns the permit of a call that throws, or that returns a promise of another library', async () => {
  const semaphore = Semaphore.create({ permits: 1 });
  const fails = throttled(
    (message: string) => {
      throw new RangeError(message);
    },
    { semaphore },
  );
  const calls = ['one', 'two'].map((message) => fails(message));
  await expect(calls[0]).rejects.toThrow(new RangeError('one'));
  await expect(calls[1]).rejects.toThrow(new RangeError('two'));
  expect(fails.stats()).toMatchObject({ failed: 2, completed: 0 });
  // biome-ignore lint/suspicious/noThenProperty: a thenable on purpose
  const thenable = { then: (resolve: (value: number) => void) => resolve(5) };
  const then = throttled(() => thenable as PromiseLike<number>, { semaphore });
  expect(await then()).toBe(5);
  expect(semaphore.inUse()).toBe(0);
});

it('waits for permits that other holders of the semaphore return', async () => {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: 1, clock });
  const permit = await semaphore.acquire();
  const sleep = vi.spyOn(clock, 'sleep');
  const call = throttled((n: number) => n, { semaphore });
  const calls = [call(1), call(2)];
  await settled();
  expect(call.stats()).toMatchObject({ running: 0, waiting: 2 });
  expect(sleep).toHaveBeenCalledTimes(1); // of the semaphore: there is no deadline
  permit.release();
  expect(await Promise.all(calls)).toEqual([1, 2]);
  expect([semaphore.inUse(), semaphore.waiting]).toEqual([0, 0]);
});
