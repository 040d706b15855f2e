import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  allOf,
  FixedWindow,
  KeyedFixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  LimitSet,
  ManualClock,
  RateLimitError,
  type RefusedMessage,
  Region,
  Semaphore,
  SlidingLog,
  TokenBucket,
} from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { settled } from '../support/settled.ts';

const CHANNEL = 'zerotime:refused';

/** The messages that are published from now on. */
function messages(): RefusedMessage[] {
  const published: RefusedMessage[] = [];
  const listen = (message: unknown) => void published.push(message as RefusedMessage);
  subscribe(CHANNEL, listen);
  onTestFinished(() => void unsubscribe(CHANNEL, listen));
  return published;
}

function clocked() {
  return { clock: ManualClock.create(), region: Region.create({ bytes: 2 ** 20 }) };
}

const timeout = (code = 'ERR_RATE_LIMIT_TIMEOUT') => expect.objectContaining({ code });

test('each refused call on a bucket publishes one message', async () => {
  const { clock } = clocked();
  const limiter = TokenBucket.create({ rate: 1, burst: 10, initial: 2, clock, stats: true });
  const published = messages();
  const refusal = (n: number) => ({ limiter, n, retryAfterMs: (n - 2) * 1000 });
  const says = (...expected: unknown[]) => expect(published.splice(0)).toEqual(expected);

  expect(limiter.tryConsume(3)).toBe(false);
  says(refusal(3));
  expect(limiter.decide(4).allowed).toBe(false);
  says(refusal(4));
  expect(limiter.acquire(5, 1)).toBe(-1);
  says(refusal(5));
  expect(limiter.reserve(6, { maxWaitMs: 1 })).toBeUndefined();
  says(refusal(6));
  expect(limiter.waitSync(7, { timeoutMs: 1 })).toBe(false);
  says(refusal(7));
  await expect(limiter.wait(8, { timeoutMs: 1 })).rejects.toEqual(timeout());
  says(refusal(8));
  await expect(limiter.wait(9, { maxWaiting: 0 })).rejects.toEqual(timeout('ERR_QUEUE_FULL'));
  says(refusal(9));
  const lease = limiter.lease({ size: 2 });
  expect(lease.tryConsume(3)).toBe(false);
  says(refusal(3));
  expect(limiter.tryConsume(11)).toBe(false);
  says({ limiter, n: 11, retryAfterMs: Number.POSITIVE_INFINITY });
  const { calls } = limiter.stats();
  expect(limiter.consumeOrDrain(5)).toBe(2);
  says({ limiter, n: 3, retryAfterMs: 3000 });
  // A subscriber changes no counts.
  expect(limiter.stats().calls).toBe(calls + 1);
});

test('calls that are admitted, abort or are misused publish nothing', async () => {
  const { clock } = clocked();
  const limiter = TokenBucket.create({ rate: 1, burst: 10, clock });
  const window = FixedWindow.create({ limit: 2, intervalMs: 1000, clock });
  const published = messages();
  expect(limiter.tryConsume(10)).toBe(true);
  expect(limiter.consumeOrDrain(0.5)).toBe(0);
  expect(window.consumeOrDrain(2)).toBe(2);
  expect(limiter.decide(0).allowed).toBe(true);
  const signal = AbortSignal.abort('gone');
  await expect(limiter.wait(1, { signal })).rejects.toBe('gone');
  expect(() => limiter.acquire(11)).toThrow('n must be at most 10');
  await expect(window.wait(3)).rejects.toThrow('n must be at most 2');
  expect(published).toEqual([]);
});

test.each([
  ['a window', FixedWindow.create],
  ['a log', SlidingLog.create],
] as const)('each refused call on %s publishes one message', async (_, create) => {
  const { clock } = clocked();
  const limiter = create({ limit: 3, intervalMs: 1000, clock });
  limiter.tryConsume(2);
  const published = messages();
  expect(limiter.tryConsume(2)).toBe(false);
  expect(limiter.decide(2).allowed).toBe(false);
  expect(limiter.waitSync(2, { timeoutMs: 1 })).toBe(false);
  await expect(limiter.wait(2, { timeoutMs: 1 })).rejects.toEqual(timeout());
  await expect(limiter.wait(2, { maxWaiting: 0 })).rejects.toEqual(timeout('ERR_QUEUE_FULL'));
  expect(published).toEqual(Array(5).fill({ limiter, n: 2, retryAfterMs: 1000 }));
  const waiting = limiter.wait(2, { timeoutMs: 1500 });
  const late = expect(limiter.wait(2, { timeoutMs: 1500 })).rejects.toEqual(timeout());
  clock.advance(1000);
  await waiting;
  clock.advance(500);
  await late;
  expect(published.splice(5)).toMatchObject([{ limiter, n: 2 }]);
  expect(limiter.consumeOrDrain(2)).toBe(1);
  expect(published.splice(5)).toMatchObject([{ limiter, n: 1 }]);
});

test('a message has the name, the key and the limits that refused', async () => {
  const { clock, region } = clocked();
  const at = ManualClock.open(region, 'clock');
  const limits = [
    { rate: 1, burst: 10 },
    { rate: 2, burst: 4 },
  ];
  const set = LimitSet.open(region, 'set', { limits, clock: at });
  const keys = KeyedTokenBucket.open(region, 'keys', { rate: 1, burst: 2, capacity: 9, clock: at });
  const windows = KeyedFixedWindow.create({ limit: 2, intervalMs: 1000, capacity: 9, clock });
  const sets = KeyedLimitSet.create({ limits, capacity: 9, clock, stats: true });
  const published = messages();
  const says = (expected: object) => expect(published.splice(0)).toEqual([expected]);

  set.tryConsume(3);
  set.tryConsume(3);
  says({ limiter: set, name: 'set', n: 3, retryAfterMs: 1000, limits: [1] });
  set.tryConsume(7);
  says({ limiter: set, name: 'set', n: 7, retryAfterMs: Number.POSITIVE_INFINITY, limits: [1] });
  set.tryConsume(8);
  says({ limiter: set, name: 'set', n: 8, retryAfterMs: Number.POSITIVE_INFINITY, limits: [0, 1] });
  keys.tryConsume('ann', 2);
  keys.tryConsume('ann');
  const ann = { limiter: keys, name: 'keys', key: 'ann', n: 1, retryAfterMs: 1000 };
  says(ann);
  keys.for('ann').decide();
  says(ann);
  await expect(keys.wait('ann', 1, { timeoutMs: 1 })).rejects.toEqual(timeout());
  says(ann);
  windows.tryConsume(7n, 2);
  windows.tryConsume(7n);
  says({ limiter: windows, key: 7n, n: 1, retryAfterMs: 1000 });
  await expect(windows.wait(7n, 1, { timeoutMs: 1 })).rejects.toEqual(timeout());
  says({ limiter: windows, key: 7n, n: 1, retryAfterMs: 1000 });
  sets.tryConsume(5, 4);
  sets.tryConsume(5);
  says({ limiter: sets, key: 5, n: 1, retryAfterMs: 500, limits: [1] });
  expect(sets.stats()).toMatchObject({ calls: 2, refused: 1 });
});

test('a refusal of allOf has those of its parts', () => {
  const { clock } = clocked();
  const one = TokenBucket.create({ rate: 1, burst: 2, clock });
  const two = FixedWindow.create({ limit: 9, intervalMs: 1000, clock });
  const keys = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 9, clock });
  const all = allOf(one, two, keys.for('ann'));
  const published = messages();
  expect(all.tryConsume()).toBe(true);
  expect(all.tryConsume(2)).toBe(false);
  const parts = [
    { limiter: one, n: 2, retryAfterMs: 1000 },
    { limiter: keys, key: 'ann', n: 2, retryAfterMs: Number.POSITIVE_INFINITY },
  ];
  const { retryAfterMs } = parts[1] as RefusedMessage;
  expect(published).toEqual([{ limiter: all, n: 2, retryAfterMs, parts }]);
});

test('semaphores publish refusals, also with limiters', async () => {
  const { clock } = clocked();
  const limiter = Semaphore.create({ permits: 2, clock });
  const bucket = TokenBucket.create({ rate: 1, burst: 1, clock });
  const both = allOf(limiter, bucket);
  const published = messages();
  const says = (...expected: object[]) => expect(published.splice(0)).toStrictEqual(expected);
  const held = limiter.tryAcquire(2);
  says();
  expect(limiter.tryAcquire()).toBeUndefined();
  says({ limiter, n: 1 });
  await expect(limiter.acquire(1, { timeoutMs: 0 })).rejects.toEqual(timeout());
  await expect(limiter.acquire(1, { maxWaiting: 0 })).rejects.toEqual(timeout('ERR_QUEUE_FULL'));
  says({ limiter, n: 1 }, { limiter, n: 1 });
  expect(both.tryAcquire()).toBeUndefined();
  says({ limiter, n: 1 });
  expect(limiter.acquireSync(1, { timeoutMs: 0 })).toBeUndefined();
  says({ limiter, n: 1 });
  await expect(both.acquire(1, { timeoutMs: 0 })).rejects.toEqual(timeout());
  says({ limiter, n: 1 });
  vi.spyOn(clock, 'now').mockImplementationOnce(() => {
    throw new Error('no time');
  });
  await expect(limiter.acquire()).rejects.toThrow('no time');
  await expect(limiter.acquire(3)).rejects.toEqual(timeout('ERR_EXCEEDS_BURST'));
  says();
  const late = expect(both.acquire(1, { timeoutMs: 5 })).rejects.toEqual(timeout());
  await settled();
  clock.advance(5);
  await late;
  says({ limiter: both, n: 1, parts: [{ limiter, n: 1 }] });
  held?.release();
  limiter.acquireSync()?.release();
  says();
  const one = limiter.tryAcquire();
  const two = limiter.acquire(2);
  const gone = new AbortController();
  // The permit that is free belongs to a call ahead, so an attempt would be refused.
  const aborted = both.acquire(1, { signal: gone.signal });
  await settled();
  const reason = new RateLimitError('ERR_RATE_LIMIT_TIMEOUT', 'of the caller');
  gone.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  says();
  one?.release();
  (await two).release();
  bucket.tryConsume();
  expect(both.tryAcquire()).toBeUndefined();
  const short = { limiter: bucket, n: 1, retryAfterMs: 1000 };
  says(short);
  await expect(both.acquire(1, { timeoutMs: 5 })).rejects.toEqual(timeout());
  says(short);
  limiter.tryAcquire();
  const ahead = both.acquire();
  await settled();
  await expect(both.acquire(1, { timeoutMs: 0 })).rejects.toEqual(timeout());
  await expect(both.acquire(1, { maxWaiting: 1 })).rejects.toEqual(timeout('ERR_QUEUE_FULL'));
  // Behind the call ahead, which has reserved the next token.
  const parts = [{ ...short, retryAfterMs: 2000 }];
  says(...Array(2).fill({ limiter: both, n: 1, parts }));
  clock.advance(1000);
  (await ahead).release();
});

test('a wait that a change refuses names its key, also after calls on others', async () => {
  const { clock } = clocked();
  const keys = KeyedTokenBucket.create({ rate: 1, burst: 1, capacity: 9, clock });
  keys.tryConsume('ann');
  const failed = expect(keys.wait('ann', 1, { timeoutMs: 2000 })).rejects.toEqual(timeout());
  const published = messages();
  keys.tryConsume('bob', 0);
  keys.reconfigure({ rate: 0.1 });
  await failed;
  expect(published).toEqual([{ limiter: keys, key: 'ann', n: 1, retryAfterMs: 20_000 }]);
});

test('a subscriber may turn the limiter to another key', async () => {
  const keys = KeyedTokenBucket.create({ rate: 1e-6, burst: 1, capacity: 9 });
  const left: number[] = [];
  const listen = () => void left.push(keys.available('other'));
  subscribe(CHANNEL, listen);
  onTestFinished(() => void unsubscribe(CHANNEL, listen));
  keys.tryConsume('ann');
  expect(keys.decide('ann')).toMatchObject({ allowed: false, remaining: 0 });
  expect(keys.acquire('ann', 1, 0)).toBe(-1);
  await expect(keys.wait('ann', 1, { timeoutMs: 1 })).rejects.toEqual(timeout());
  expect(left).toEqual([1, 1, 1]);
});

test('a subscriber that throws changes no answer: Node.js reports it as uncaught', async () => {
  const bucket = TokenBucket.create({ rate: 1e-6, burst: 1, initial: 0 });
  const fails = () => {
    throw new Error('a mistake of the subscriber');
  };
  subscribe(CHANNEL, fails);
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  onTestFinished(() => {
    unsubscribe(CHANNEL, fails);
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  const uncaught = once(process, 'uncaughtException');
  expect(bucket.tryConsume()).toBe(false);
  const [error] = await uncaught;
  expect(error).toMatchObject({ message: 'a mistake of the subscriber' });
});

test.each([
  [
    'a bucket',
    (clock: ManualClock) => TokenBucket.create({ rate: 100, burst: 1, stats: true, clock }),
  ],
  [
    'a window',
    (clock: ManualClock) => FixedWindow.create({ limit: 1, intervalMs: 10, stats: true, clock }),
  ],
])('throttled calls that wait for %s are no refusals', async (_, create) => {
  const clock = ManualClock.create();
  const limiter = create(clock);
  const published = messages();
  const call = throttled(() => 1, { limiter });
  const calls = [call(), call(), call(), call()];
  while (call.queueSize > 0) {
    await settled(4);
    clock.advance(10);
  }
  await Promise.all(calls);
  expect(limiter.stats()).toMatchObject({ calls: 4, admitted: 4, refused: 0 });
  expect(published).toEqual([]);
  clock.advance(1000);
  const impatient = throttled(() => 1, { limiter, timeoutMs: 0 });
  await impatient();
  await expect(impatient()).rejects.toEqual(timeout());
  expect(limiter.stats()).toMatchObject({ calls: 6, admitted: 5, refused: 1 });
  expect(published).toHaveLength(1);
});

test('throttled calls that wait for permits are no refusals', async () => {
  const clock = ManualClock.create();
  const semaphore = Semaphore.create({ permits: 1, stats: true, clock });
  const limiter = TokenBucket.create({ rate: 1000, burst: 1, stats: true, clock });
  const published = messages();
  const call = throttled(() => clock.sleep(clock.now() + 5000), { semaphore, limiter });
  const calls = [call(), call(), call(), call()];
  while (call.stats().completed < 4) {
    await settled(4);
    clock.advance(1);
  }
  await Promise.all(calls);
  expect(semaphore.stats()).toMatchObject({ calls: 4, admitted: 4, refused: 0 });
  expect(limiter.stats()).toMatchObject({ refused: 0 });
  expect(published).toEqual([]);
});
