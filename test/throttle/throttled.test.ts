import { getEventListeners } from 'node:events';
import { expect, expectTypeOf, it, vi } from 'vitest';
import {
  allOf,
  FixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  ManualClock,
  Semaphore,
  SlidingLog,
  TokenBucket,
} from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { until } from '../support/throttled.ts';

const TIMEOUT = { name: 'RateLimitError', code: 'ERR_RATE_LIMIT_TIMEOUT' };
const CLOSED = { name: 'RateLimitError', code: 'ERR_THROTTLE_CLOSED' };

/** Lets everything run that is due. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
}

/** A call that ends when the test says so. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

function bucketOf(rate: number, burst: number) {
  const clock = ManualClock.create();
  return { clock, limiter: TokenBucket.create({ rate, burst, clock }) };
}

it('passes this and the arguments through, and infers the types', async () => {
  const { limiter } = bucketOf(1000, 10);
  const price = {
    factor: 3,
    of: throttled(
      function (this: { factor: number }, n: number, unit?: string) {
        return `${n * this.factor}${unit ?? ''}`;
      },
      { limiter },
    ),
  };
  expect(await price.of(2, ' EUR')).toBe('6 EUR');
  expectTypeOf(price.of).parameters.toEqualTypeOf<[n: number, unit?: string | undefined]>();
  expectTypeOf(price.of).returns.toEqualTypeOf<Promise<string>>();
  const later = throttled(async (id: number) => ({ id }), {
    limiter,
    key: (id) => {
      expectTypeOf(id).toEqualTypeOf<number>();
      return id;
    },
  });
  expectTypeOf(later).returns.toEqualTypeOf<Promise<{ id: number }>>();
  expect(await later(7)).toEqual({ id: 7 });
  // @ts-expect-error: an id is a number
  const wrong = () => later('7');
  expectTypeOf(wrong).toBeFunction();
  expect(throttled(function named() {}, { limiter }).name).toBe('named');
});

it('starts calls at once while there are tokens, then each at its instant, in order', async () => {
  const { clock, limiter } = bucketOf(100, 2);
  const starts: [number, number][] = [];
  const call = throttled((n: number) => void starts.push([n, clock.nowMs]), { limiter });
  const calls = [0, 1, 2, 3, 4].map((n) => call(n));
  expect(starts).toEqual([
    [0, 0],
    [1, 0],
  ]);
  expect(call.queueSize).toBe(3);
  while (clock.advanceToNext()) await settled();
  await Promise.all(calls);
  expect(starts.slice(2)).toEqual([
    [2, 10],
    [3, 20],
    [4, 30],
  ]);
  expect(call.stats()).toMatchObject({ waiting: 0, running: 0, completed: 5 });
});

it('starts all calls together whose tokens are due when the clock is late', async () => {
  const { clock, limiter } = bucketOf(10_000, 4);
  let started = 0;
  const call = throttled(() => void started++, { limiter });
  const calls = Array.from({ length: 1000 }, () => call());
  for (let late = 1; late < 20; late++) {
    clock.advance(5);
    await settled();
    expect(started).toBe(4 + 50 * late);
  }
  clock.advance(100);
  await Promise.all(calls);
});

it.each([
  ['FixedWindow', (clock: ManualClock) => FixedWindow.create({ limit: 3, intervalMs: 10, clock })],
  ['SlidingLog', (clock: ManualClock) => SlidingLog.create({ limit: 3, intervalMs: 10, clock })],
  ['LeakyBucket', (clock: ManualClock) => LeakyBucket.create({ rate: 300, clock })],
  [
    'allOf',
    (clock: ManualClock) =>
      allOf(
        TokenBucket.create({ rate: 300, burst: 3, clock }),
        FixedWindow.create({ limit: 50, intervalMs: 100, clock }),
      ),
  ],
  [
    'the bucket of a key',
    (clock: ManualClock) =>
      KeyedTokenBucket.create({ rate: 300, burst: 3, capacity: 16, clock }).for('ann'),
  ],
] as const)('works with any limiter: %s', async (_name, create) => {
  const clock = ManualClock.create();
  const limiter = create(clock);
  const starts: number[] = [];
  const call = throttled((n: number) => void starts.push(n), { limiter });
  const calls = Array.from({ length: 10 }, (_, n) => call(n));
  let last = starts.length;
  for (let ms = 0; ms < 50 && starts.length < 10; ms++) {
    clock.advance(1);
    await settled();
    expect(starts.length - last).toBeLessThanOrEqual(3);
    last = starts.length;
  }
  await Promise.all(calls);
  expect(starts).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(clock.nowMs).toBeGreaterThanOrEqual(23);
});

it('runs as many calls at once as there are permits, and takes a permit before a token', async () => {
  const { clock, limiter } = bucketOf(1000, 5);
  const semaphore = Semaphore.create({ permits: 2, clock });
  const gates = [gate(), gate(), gate()];
  const call = throttled((n: number) => gates[n]?.opened, { limiter, semaphore });
  const calls = [0, 1, 2].map((n) => call(n));
  await settled();
  expect([semaphore.inUse(), limiter.available()]).toEqual([2, 3]); // the third took no token
  expect(call.stats()).toMatchObject({ running: 2, waiting: 1 });
  gates[0]?.open();
  await calls[0];
  await until(() => call.stats().running === 2);
  expect([semaphore.inUse(), limiter.available()]).toEqual([2, 2]);
  for (const { open } of gates) open();
  await call.drain();
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
  const semaphore = Semaphore.create({ permits: 1 });
  const permit = await semaphore.acquire();
  const call = throttled((n: number) => n, { semaphore });
  const calls = [call(1), call(2)];
  await settled();
  expect(call.stats()).toMatchObject({ running: 0, waiting: 2 });
  permit.release();
  expect(await Promise.all(calls)).toEqual([1, 2]);
  expect([semaphore.inUse(), semaphore.waiting]).toEqual([0, 0]);
});

it('renews a permit with holdMs that ran out while its call waited for a token', async () => {
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
  const call = throttled((n: number) => n, { limiter, timeoutMs: 15 });
  const calls = [call(1), call(2), call(3), call(4)];
  for (const late of calls.slice(2)) late.catch(() => undefined);
  await settled();
  clock.advance(10);
  expect(await Promise.all(calls.slice(0, 2))).toEqual([1, 2]);
  clock.advance(5);
  for (const late of calls.slice(2)) await expect(late).rejects.toMatchObject(TIMEOUT);
  expect(limiter.balance()).toBe(0.5); // two tokens for two calls
  const none = throttled((n: number) => n, { limiter, timeoutMs: 0 });
  await expect(none(1)).rejects.toMatchObject(TIMEOUT);
  expect(limiter.balance()).toBe(0.5);
});

it('aborts waiting calls without taking a token or a permit, wherever they stand', async () => {
  const { clock, limiter } = bucketOf(100, 1);
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
  signals[1]?.abort('first in the queue'); // its token goes to the next
  await expect(calls[1]).rejects.toBe('first in the queue');
  clock.advance(10);
  await calls[2];
  signals[3]?.abort('last in the queue');
  await expect(calls[3]).rejects.toBe('last in the queue');
  expect(started).toEqual([0, 2]);
  expect([limiter.balance(), semaphore.inUse(), semaphore.waiting]).toEqual([0, 0, 0]);
  await expect(call(1)).rejects.toBe('first in the queue');
  expect(call.stats()).toMatchObject({ aborted: 3, completed: 2 });
});

it('aborts all calls by one signal, and those that come later', async () => {
  const { limiter } = bucketOf(1, 1);
  const stop = new AbortController();
  const call = throttled(() => 1, { limiter, signal: stop.signal });
  const calls = [call(), call(), call()];
  stop.abort(new Error('stopped'));
  const ends = await Promise.allSettled(calls);
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  await expect(call()).rejects.toThrow('stopped');
  expect(limiter.balance()).toBe(0);
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

it('overtakes no waiting call, even if tokens are available', async () => {
  const { clock, limiter } = bucketOf(100, 5);
  limiter.charge(5);
  const started: number[] = [];
  const call = throttled((n: number) => void started.push(n), { limiter });
  const calls = [call(1)];
  await settled();
  clock.advance(100); // nobody has looked yet
  calls.push(call(2));
  expect(started).toEqual([]);
  await Promise.all(calls);
  expect(started).toEqual([1, 2]);
});

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

it('gives back a token that comes when its call has just been aborted', async () => {
  let grant: () => void = () => undefined;
  const limiter = {
    clock: ManualClock.create(),
    tryConsume: () => false,
    wait: () =>
      new Promise<void>((resolve) => {
        grant = resolve;
      }),
    returnTokens: vi.fn(),
  };
  const stop = new AbortController();
  const call = throttled(() => 1, { limiter, signal: stop.signal });
  const waiting = call();
  grant();
  stop.abort('too late');
  await expect(waiting).rejects.toBe('too late');
  expect(limiter.returnTokens.mock.calls).toEqual([[1]]);
});

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

it('calls onDelay with the arguments of each call that has to wait', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const delayed: string[] = [];
  const call = throttled((a: string, n: number) => a.repeat(n), {
    limiter,
    maxQueue: 1,
    onDelay: (a, n) => delayed.push(`${a}${n}`),
  });
  const calls = [call('a', 1), call('b', 2)];
  await expect(call('c', 3)).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  expect(delayed).toEqual(['b2']);
  clock.advance(1);
  expect(await Promise.all(calls)).toEqual(['a', 'bb']);
  const throws = throttled(() => 1, {
    limiter,
    onDelay: () => {
      throw new Error('onDelay failed');
    },
  });
  await expect(throws()).rejects.toThrow('onDelay failed');
  expect(limiter.balance()).toBe(0);
});

it('shows how many calls wait, and for how long the oldest has', async () => {
  const { clock, limiter } = bucketOf(100, 1);
  const call = throttled((n: number) => n, { limiter });
  expect([call.queueSize, call.oldestMs]).toEqual([0, 0]);
  const calls = [call(0), call(1)];
  clock.advance(4);
  calls.push(call(2));
  clock.advance(3);
  expect([call.queueSize, call.oldestMs]).toEqual([2, 7]);
  clock.advance(3);
  await calls[1];
  expect([call.queueSize, call.oldestMs]).toEqual([1, 6]);
  clock.advance(10);
  await Promise.all(calls);
  expect([call.queueSize, call.oldestMs]).toEqual([0, 0]);
});

it('drains, and closes with the waiting calls finished or rejected', async () => {
  const { clock, limiter } = bucketOf(100, 1);
  const idle = throttled(() => 1, { limiter });
  await idle.drain();
  const finishing = throttled((n: number) => n, { limiter });
  const calls = [finishing(1), finishing(2)];
  let isClosed = false;
  const closed = finishing.close().then(() => {
    isClosed = true;
  });
  await expect(finishing(3)).rejects.toMatchObject(CLOSED);
  await settled();
  expect(isClosed).toBe(false);
  clock.advance(10);
  expect(await Promise.all(calls)).toEqual([1, 2]);
  await closed;

  const rejecting = throttled((n: number) => n, { limiter });
  const waiting = [rejecting(1), rejecting(2)];
  const ended = rejecting.close({ waiting: 'reject' });
  for (const call of waiting) await expect(call).rejects.toMatchObject(CLOSED);
  await ended;
  expect(limiter.balance()).toBe(0);
  expect(rejecting.stats()).toMatchObject({ refused: 2, waiting: 0, running: 0 });
});

it('starts a call made within another, and keeps the order', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const started: number[] = [];
  const call: (n: number) => Promise<void> = throttled(
    (n: number) => {
      started.push(n);
      if (n < 3) later.push(call(n + 10));
    },
    { limiter },
  );
  const later: Promise<void>[] = [];
  const calls = [0, 1, 2].map((n) => call(n));
  for (let ms = 0; ms < 6; ms++) {
    clock.advance(1);
    await settled();
  }
  await Promise.all([...calls, ...later]);
  expect(started).toEqual([0, 10, 1, 2, 11, 12]);
});

it('names the invalid argument', async () => {
  const { limiter } = bucketOf(1, 1);
  // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
  const anything = (value: unknown) => value as any;
  const wrong: [object, string][] = [
    [{}, 'options must have a limiter or a semaphore'],
    [{ limiter: 7 }, 'limiter must be a limiter, got 7'],
    [
      { limiter: { tryConsume: async () => true, wait: async () => {} } },
      'limiter must be a limiter',
    ],
    [{ semaphore: {} }, 'semaphore must be a Semaphore, got an object'],
    [{ limiter, maxQueue: -1 }, 'maxQueue must be an integer at least 0, got -1'],
    [{ limiter, timeoutMs: '1' }, 'timeoutMs must be a number at least 0, or Infinity, got "1"'],
    [{ limiter, priority: Number.NaN }, 'priority must be a number, got NaN'],
    [{ limiter, key: null }, 'key must be a string or a number, got null'],
    [{ limiter, weights: { a: 0 } }, 'weights["a"] must be a number greater than 0, got 0'],
    [{ limiter, weights: 5 }, 'weights must be an object, got 5'],
    [{ limiter, onDelay: 1 }, 'onDelay must be a function, got 1'],
    [{ limiter, signal: 1 }, 'signal must be an AbortSignal, got 1'],
    [{ limiter, timeout: 5 }, 'options has no option "timeout"; did you mean timeoutMs?'],
  ];
  for (const [options, message] of wrong) {
    expect(() => throttled(() => 1, anything(options))).toThrow(message);
  }
  expect(() => throttled(anything(5), { limiter })).toThrow('fn must be a function, got 5');
  const call = throttled((key: unknown) => key, { limiter, key: (key) => anything(key) });
  await expect(call({})).rejects.toThrow('key must be a string or a number, got an object');
  await expect(call.close(anything({ waiting: 'no' }))).rejects.toThrow(
    "waiting must be 'finish' or 'reject', got \"no\"",
  );
  expect(limiter.available()).toBe(1);
});
