import { expect, it } from 'vitest';
import { type Clock, ManualClock, Semaphore, TokenBucket } from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';
import { settled } from '../support/settled.ts';

// Limiters and clocks of the user's that throw, or call back. Each call settles once, and a call
// that was rejected never starts.

/** A full bucket of two tokens; each `tryConsume` or `reserve` first runs the next of its hooks. */
function meddled(clock = ManualClock.create()) {
  const bucket = TokenBucket.create({ rate: 10, burst: 2, clock });
  const first: Record<'tryConsume' | 'reserve', (() => void)[]> = { tryConsume: [], reserve: [] };
  const limiter = {
    clock: clock as Clock,
    wait: () => bucket.wait(),
    tryConsume: () => {
      first.tryConsume.shift()?.();
      return bucket.tryConsume();
    },
    reserve: (n: number, options: { readonly maxWaitMs: number }) => {
      first.reserve.shift()?.();
      return bucket.reserve(n, options);
    },
  };
  return { clock, bucket, first, limiter };
}

const fails = () => {
  throw new Error('in the limiter');
};

it('rejects the next call only, when the limiter throws as another call ends', async () => {
  const { limiter, clock, first, bucket } = meddled();
  const semaphore = Semaphore.create({ permits: 1, clock });
  const started: number[] = [];
  const work = throttled(async (n: number) => void started.push(n), { limiter, semaphore });
  const calls = [1, 2, 3].map((n) => work(n));
  first.tryConsume = [fails];
  expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(started).toEqual([1, 3]);
  expect(work.stats()).toMatchObject({ completed: 2, failed: 1, waiting: 0, running: 0 });
  expect([semaphore.inUse(), bucket.available()]).toEqual([0, 0]);
});

it('starts no call that was rejected because the limiter threw as it began to wait', async () => {
  const { limiter, clock, first, bucket } = meddled();
  bucket.tryConsume(2);
  let started = 0;
  const work = throttled(() => void started++, { limiter });
  first.tryConsume = [() => undefined, fails];
  await expect(work()).rejects.toThrow('in the limiter');
  clock.advance(1000);
  await settled(30);
  expect(started).toBe(0);
  expect(work.stats()).toMatchObject({ completed: 0, failed: 1, waiting: 0 });
});

it('ends a call once that the limiter aborts while it refuses its token', async () => {
  const { limiter, first, bucket } = meddled();
  bucket.tryConsume(2);
  const abort = new AbortController();
  const work = throttled(() => 1, { limiter, timeoutMs: 50, signal: abort.signal });
  first.reserve = [() => abort.abort()];
  await expect(work()).rejects.toMatchObject({ name: 'AbortError' });
  expect(work.stats()).toMatchObject({ aborted: 1, timedOut: 0, waiting: 0 });
});

it('rejects all calls that wait, when the clock throws as another call ends', async () => {
  const { limiter, clock } = meddled();
  const semaphore = Semaphore.create({ permits: 1, clock });
  let isBroken = false;
  limiter.clock = {
    name: 'mine',
    handle: clock.handle,
    now: () => (isBroken ? fails() : clock.now()),
    sleep: (untilUs, options) => clock.sleep(untilUs, options),
    sleepSync: () => undefined,
  };
  const breakIt = async () => {
    await settled();
    isBroken = true;
  };
  const work = throttled(breakIt, { limiter, semaphore });
  const calls = [1, 2, 3].map(() => work());
  expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
  ]);
  expect(work.stats()).toMatchObject({ completed: 1, failed: 2, waiting: 0, running: 0 });
  expect(semaphore.inUse()).toBe(0);
});

it.each([
  ['priority', { priority: () => Number.NaN }],
  ['key', { key: () => fails() }],
  ['signal', { signal: () => ({ throwIfAborted: () => undefined }) as AbortSignal }],
  [
    'signal that cannot be heard',
    {
      signal: () =>
        ({ throwIfAborted: () => undefined, addEventListener: fails }) as unknown as AbortSignal,
    },
  ],
])('counts a call with an invalid %s once, and does not run it', async (_, options) => {
  const { limiter, clock, bucket } = meddled();
  bucket.tryConsume(2);
  let started = 0;
  const work = throttled(() => void started++, { limiter, ...options });
  await expect(work()).rejects.toThrow();
  clock.advance(1000);
  await settled(30);
  expect(started).toBe(0);
  expect(work.stats()).toEqual({
    waiting: 0,
    running: 0,
    completed: 0,
    failed: 1,
    refused: 0,
    timedOut: 0,
    aborted: 0,
  });
  expect(bucket.available()).toBe(2);
});
