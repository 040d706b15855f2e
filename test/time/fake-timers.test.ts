import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  allOf,
  FixedWindow,
  KeyedTokenBucket,
  ManualClock,
  Semaphore,
  systemClock,
  TokenBucket,
} from '../../src/index.ts';

// As in a user's tests, which replace the timers after they have imported zerotime.
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const SOON_MS = 20;
const rate = 1000 / SOON_MS;

test.each([
  ['a bucket', () => TokenBucket.create({ rate, burst: 1, initial: 0 })],
  ['a window', () => taken(FixedWindow.create({ limit: 1, intervalMs: SOON_MS }))],
  ['a key', () => taken(KeyedTokenBucket.create({ rate, burst: 1, capacity: 4 }).for('ann'))],
  ['two limits', () => allOf(TokenBucket.create({ rate, burst: 1, initial: 0 }), full())],
])('a wait for %s takes its time under fake timers', async (_, create) => {
  const limiter = create();
  const startUs = systemClock.now();
  await limiter.wait();
  await limiter.wait(1, { precise: false });
  expect(systemClock.now() - startUs).toBeGreaterThan(SOON_MS * 1000);
});

test('a permit, and a timeout, arrive under fake timers', async () => {
  const semaphore = Semaphore.create({ permits: 1 });
  const permit = semaphore.tryAcquire();
  await expect(semaphore.acquire(1, { timeoutMs: 5 })).rejects.toThrow('timeoutMs = 5');
  const acquired = semaphore.acquire();
  permit?.release();
  expect((await acquired).n).toBe(1);
});

test('fake time moves no limiter on the system clock', async () => {
  const bucket = TokenBucket.create({ rate: 1e-3, burst: 1, initial: 0 });
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(bucket.available()).toBeLessThan(1);
  expect(bucket.waiting).toBe(0);
});

test('a manual clock moves waits under fake timers', async () => {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 1e-3, burst: 1, initial: 0, clock });
  const waited = bucket.wait();
  clock.advance(1_000_000);
  expect(await waited).toEqual({ waitedMs: 1_000_000 });
});

function taken<Limiter extends { tryConsume(): boolean }>(limiter: Limiter): Limiter {
  limiter.tryConsume();
  return limiter;
}

function full() {
  return TokenBucket.create({ rate: 1e6, burst: 1e6 });
}
