import { expect, expectTypeOf, it } from 'vitest';
import {
  allOf,
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  LeakyBucket,
  ManualClock,
  Semaphore,
  SlidingLog,
  TokenBucket,
} from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { bucketOf } from '../support/manual-bucket.ts';
import { settled, withResolvers } from '../support/settled.ts';
import { watched } from '../support/watched.ts';

const TIMEOUT = { name: 'RateLimitError', code: 'ERR_RATE_LIMIT_TIMEOUT' };
const CLOSED = {
  name: 'RateLimitError',
  code: 'ERR_THROTTLE_CLOSED',
  message: 'closed before the call could start',
};

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

// docs/queues.md: "A call starts when its token is due or later"
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
  await settled(); // one waits and none runs
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

it.each([
  [
    'late',
    'ERR_RATE_LIMIT_TIMEOUT',
    (clock: ManualClock) => {
      const semaphore = Semaphore.create({ permits: 1, clock });
      semaphore.tryAcquire();
      return { options: { semaphore, timeoutMs: 5 }, end: () => clock.advance(5) };
    },
  ],
  [
    'no longer possible',
    'ERR_EXCEEDS_BURST',
    (clock: ManualClock) => {
      const limiter = TokenBucket.create({ rate: 100, burst: 1, initial: 0, clock });
      const end = () => {
        limiter.reconfigure({ burst: 0.5 });
        clock.advance(10); // to the instant of the one promised token
      };
      return { options: { limiter }, end };
    },
  ],
] as const)('refuses at most 512 calls that are %s in a turn', async (_, code, create) => {
  const { options, end } = create(ManualClock.create());
  const turns: number[] = [];
  let isInTurn = false;
  const call = throttled((n: number) => n, options);
  const calls = Array.from({ length: 600 }, async (_, n) => {
    const error = await call(n).catch((reason: unknown) => reason);
    if (error === 0) return; // it had its token
    expect(error).toMatchObject({ code });
    if (!isInTurn) {
      process.nextTick(() => {
        isInTurn = false;
      });
      turns.push(0);
    }
    isInTurn = true;
    turns.push((turns.pop() ?? 0) + 1);
  });
  end();
  await Promise.all(calls);
  expect(Math.max(...turns)).toBeLessThanOrEqual(512); // by 256 at each of two looks
  expect(turns).toHaveLength(2);
});

it('drains though the rest of many due calls is aborted between two looks', async () => {
  const { clock, limiter } = bucketOf(1000, 600);
  limiter.consumeOrDrain(600);
  const stop = new AbortController();
  const { promise, resolve } = withResolvers();
  const work = () => {
    process.nextTick(() => stop.abort('enough'));
    return promise;
  };
  const call = throttled(work, { limiter, signal: stop.signal });
  const ends = Promise.allSettled(Array.from({ length: 600 }, () => call()));
  clock.advance(600);
  await settled();
  expect(call.stats()).toMatchObject({ running: 256, aborted: 344 });
  const drained = call.drain();
  resolve();
  await ends;
  await drained;
});

it.each([
  { ends: 'at once', end: undefined },
  { ends: 'never', end: new Promise<void>(() => {}) },
])(
  'starts few of 600 due calls that end $ends in a turn, and the rest after an abort',
  async (row) => {
    const { clock, limiter } = bucketOf(1000, 600);
    limiter.consumeOrDrain(600);
    const stop = new AbortController();
    const turns: number[] = [];
    let inTurn = 0;
    const call = throttled(
      (_: number) => {
        if (inTurn++ === 0) {
          process.nextTick(() => {
            // Within the turn in which the next look is planned.
            stop.abort('enough');
            turns.push(inTurn);
            inTurn = 0;
          });
        }
        return row.end;
      },
      { limiter, signal: (n) => (n === 599 ? stop.signal : undefined) },
    );
    const calls = Array.from({ length: 600 }, (_, n) => call(n));
    clock.advance(600);
    await expect(calls[599]).rejects.toBe('enough');
    const started = () => turns.reduce((sum, count) => sum + count, 0);
    while (started() < 599) await settled(1);
    expect(Math.max(...turns)).toBeLessThanOrEqual(512);
  },
);

it('returns the token of a call that ends at its deadline, while others wait', async () => {
  const { clock, limiter } = bucketOf(1000, 1);
  const call = throttled((n: number) => n, {
    limiter,
    timeoutMs: 1.5,
    priority: (n) => n,
    key: (n) => n,
  });
  const calls = [call(0), call(1)];
  clock.advance(0.5);
  calls.push(call(2), call(2));
  expect(limiter.balance()).toBe(-2.5);
  clock.advance(0.5);
  expect(await calls[2]).toBe(2);
  clock.advance(0.5);
  await expect(calls[1]).rejects.toMatchObject(TIMEOUT);
  expect([limiter.balance(), call.queueSize]).toEqual([-0.5, 1]);
  clock.advance(0.5);
  expect(await calls[3]).toBe(2);
});

it('fails the waiting calls if the clock cannot sleep', async () => {
  const { clock, limiter } = bucketOf(100, 1);
  clock.sleep = () => Promise.reject(new Error('no sleep'));
  const call = throttled((n: number) => n, { limiter });
  const calls = [call(1), call(2), call(3)];
  expect(await calls[0]).toBe(1);
  for (const waiting of calls.slice(1)) await expect(waiting).rejects.toThrow('no sleep');
  expect(call.stats()).toMatchObject({ completed: 1, failed: 2 });
});

it('asks a clock that cannot sleep no more once the waiting calls have failed', async () => {
  const { clock, limiter } = bucketOf(1, 1);
  const call = throttled((n: number) => n, { limiter });
  const calls = Array.from({ length: 600 }, (_, n) => watched(call(n)));
  let sleeps = 0;
  clock.sleep = () => {
    sleeps++;
    return Promise.reject(new Error('no sleep'));
  };
  // More calls are due than start at one look.
  limiter.reconfigure({ rate: Number.POSITIVE_INFINITY });
  await expect(calls[599]).rejects.toThrow('no sleep');
  const before = sleeps;
  await settled();
  expect(sleeps).toBe(before);
});

it('names the invalid argument', async () => {
  const { limiter } = bucketOf(1, 1);
  // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
  const anything = (value: unknown) => value as any;
  const table = { rate: 1, burst: 1, capacity: 10 };
  const window = { limit: 1, intervalMs: 1, capacity: 10 };
  const wrong: [object, string][] = [
    [{}, 'options must have a limiter or a semaphore'],
    [{ limiter: 7 }, 'limiter must be a limiter, got 7'],
    [{ limiter: { tryConsume: () => true, wait: async () => {} } }, 'a limiter, got an object'],
    [{ limiter: KeyedTokenBucket.create(table) }, 'limiter must be the limiter of one key'],
    [{ limiter: KeyedFixedWindow.create(window) }, 'limiter must be the limiter of one key'],
    [{ semaphore: {} }, 'semaphore must be a Semaphore, got an object'],
    [{ semaphore: { tryAcquire() {} } }, 'semaphore must be a Semaphore, got an object'],
    [{ semaphore: { acquire() {} } }, 'semaphore must be a Semaphore, got an object'],
    [{ semaphore: null }, 'semaphore must be a Semaphore, got null'],
    [{ limiter, maxQueue: -1 }, 'maxQueue must be an integer at least 0, got -1'],
    [{ limiter, timeoutMs: '1' }, 'timeoutMs must be a number at least 0, or Infinity, got "1"'],
    [{ limiter, priority: Number.NaN }, 'priority must be a number, got NaN'],
    [{ limiter, key: null }, 'key must be a string or a number, got null'],
    [{ limiter, weights: { a: 0 } }, 'weights["a"] must be a number greater than 0, got 0'],
    [{ limiter, weights: 5 }, 'weights must be an object, got 5'],
    [{ limiter, onDelay: 1 }, 'onDelay must be a function, got 1'],
    [{ limiter, signal: 1 }, 'signal must be an AbortSignal, got 1'],
    [{ limiter, signal: null }, 'signal must be an AbortSignal, got null'],
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
