import { describe, expect, test } from 'vitest';
import {
  FixedWindow,
  KeyedFixedWindow,
  KeyedTokenBucket,
  ManualClock,
  Semaphore,
  SlidingLog,
  TokenBucket,
} from '../../src/index.ts';
import { throttled } from '../../src/throttle.ts';

// Names of other limiters that docs/systems.md translates, where a translation that looks right would
// behave differently.

describe('juju/ratelimit', () => {
  test('Take(n) is charge(n): it takes more than the capacity and returns the wait', () => {
    const bucket = TokenBucket.create({ rate: 10, burst: 5, clock: ManualClock.create() });
    expect(bucket.charge(20)).toBe(1500);
    expect(() => bucket.acquire(20)).toThrow(
      expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' }),
    );
    expect(bucket.balance()).toBe(-15);
  });
});

describe('rate-limiter-flexible', () => {
  test('RateLimiterMemory is a KeyedFixedWindow: `points` in a window, the rest refused', () => {
    const clock = ManualClock.create();
    const limiter = KeyedFixedWindow.create({ limit: 2, intervalMs: 1000, capacity: 16, clock });
    expect([1, 2, 3].map(() => limiter.tryConsume('ann'))).toEqual([true, true, false]);
    expect(limiter.tryConsume('bob')).toBe(true);
    expect(limiter.decide('ann').retryAfterMs).toBe(1000);
    clock.advance(1000);
    expect(limiter.tryConsume('ann', 2)).toBe(true);
  });

  test('RateLimiterMemory for one key is a FixedWindow: a call after its end opens the next', () => {
    const clock = ManualClock.create();
    const limiter = FixedWindow.create({ limit: 2, intervalMs: 1000, clock });
    clock.advance(1700);
    expect(limiter.consumeOrDrain(3)).toBe(2);
    clock.advance(999);
    expect(limiter.tryConsume()).toBe(false);
    clock.advance(1);
    expect(limiter.tryConsume()).toBe(true);
  });

  test('penalty(key, points) is charge(key, n): it takes more than the remaining tokens', () => {
    const clock = ManualClock.create();
    const limiter = KeyedTokenBucket.create({ rate: 1, burst: 2, capacity: 16, clock });
    limiter.charge('ann', 5);
    expect(limiter.balance('ann')).toBe(-3);
    clock.advance(3000);
    expect(limiter.tryConsume('ann')).toBe(false);
    clock.advance(1000);
    expect(limiter.tryConsume('ann')).toBe(true);
  });
});

describe('bottleneck', () => {
  test('incrementReservoir(n) is returnTokens(n): never above the burst, below zero for n < 0', () => {
    const bucket = TokenBucket.create({ rate: 1, burst: 4, clock: ManualClock.create() });
    bucket.consumeOrDrain(4);
    bucket.returnTokens(3);
    expect(bucket.available()).toBe(3);
    bucket.returnTokens(3);
    expect(bucket.available()).toBe(4);
    // incrementReservoir(-5)
    expect(() => bucket.returnTokens(-5)).toThrow(RangeError);
    bucket.charge(5);
    expect(bucket.balance()).toBe(-1);
  });

  test('maxConcurrent is a semaphore; a priority is higher first, where 0 is the first there', async () => {
    const semaphore = Semaphore.create({ permits: 1 });
    const started: number[] = [];
    const call = throttled(async (n: number) => void started.push(n), {
      semaphore,
      priority: (n) => n,
    });
    await Promise.all([5, 0, 9, 3].map((n) => call(n)));
    expect(started).toEqual([5, 9, 3, 0]);
  });
});

describe('p-throttle', () => {
  test('a SlidingLog is always strict: at most `limit` in any interval', () => {
    const clock = ManualClock.create();
    const log = SlidingLog.create({ limit: 2, intervalMs: 1000, clock });
    const window = FixedWindow.create({ limit: 2, intervalMs: 1000, clock });
    for (const limiter of [log, window]) limiter.tryConsume();
    clock.advance(999);
    for (const limiter of [log, window]) limiter.tryConsume();
    clock.advance(1);
    // Three within a millisecond: p-throttle without `strict`.
    expect(window.consumeOrDrain(2)).toBe(2);
    expect(log.consumeOrDrain(2)).toBe(1);
  });
});

describe('p-throttle with a function', () => {
  test('limit and interval are those of the limiter; queueSize and onDelay count waiting calls', async () => {
    const clock = ManualClock.create();
    const limiter = SlidingLog.create({ limit: 2, intervalMs: 1000, clock });
    const delayed: number[] = [];
    const call = throttled((n: number) => n, { limiter, onDelay: (n) => delayed.push(n) });
    const calls = [1, 2, 3].map((n) => call(n));
    expect([call.queueSize, ...delayed]).toEqual([1, 3]);
    clock.advance(1000);
    expect(await Promise.all(calls)).toEqual([1, 2, 3]);
  });
});

describe('golang.org/x/time/rate', () => {
  test('Cancel at the due instant still returns the tokens of the latest reservation, as there', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 1, clock });
    bucket.acquire();
    const latest = bucket.reserve();
    clock.advance(100);
    expect(latest?.cancel()).toBe(true);
    expect(bucket.available()).toBe(1);
  });
});
