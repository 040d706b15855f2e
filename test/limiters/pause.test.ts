import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  allOf,
  FixedWindow,
  LeakyBucket,
  LimitSet,
  ManualClock,
  RateLimitError,
  TokenBucket,
} from '../../src/index.ts';
import { settled } from '../support/settled.ts';

const TIMEOUT = expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' });

describe.each(['wasm', 'atomics'] as const)('rate 0, with kernel %s,', (kernel) => {
  const made = (limit: { rate: number; burst: number; initial?: number }) => {
    const clock = ManualClock.create();
    return { clock, bucket: TokenBucket.create({ ...limit, clock, kernel }) };
  };

  test('grants the tokens that are there, and no others', () => {
    const { clock, bucket } = made({ rate: 0, burst: 3, initial: 2 });
    expect(bucket.rate).toBe(0);
    expect(bucket.tryConsume(2)).toBe(true);
    clock.advance(1e9);
    expect(bucket.tryConsume()).toBe(false);
    expect(bucket.consumeOrDrain(5)).toBe(0);
    expect(bucket.acquire(1, 1e12)).toBe(-1);
    expect(bucket.timeUntil(1)).toBe(Number.POSITIVE_INFINITY);
    expect(bucket.decide(1)).toEqual({
      allowed: false,
      limit: 3,
      remaining: 0,
      retryAfterMs: Number.POSITIVE_INFINITY,
      resetMs: Number.POSITIVE_INFINITY,
      nextTokenMs: Number.POSITIVE_INFINITY,
    });
    bucket.returnTokens(1);
    expect(bucket.tryConsume()).toBe(true);
  });

  test('lets a bucket be as large as at any rate', () => {
    const { bucket } = made({ rate: 0, burst: 1e9 });
    expect(bucket.consumeOrDrain(2e9)).toBe(1e9);
    expect(() => made({ rate: 0, burst: 1e20 })).toThrow(/^burst must be at most/);
  });

  test('fails a new wait with a timeout at once, and an earlier one at its deadline', async () => {
    const { clock, bucket } = made({ rate: 10, burst: 5 });
    bucket.tryConsume(5);
    const promised = bucket.wait(1, { timeoutMs: 1000 });
    bucket.reconfigure({ rate: 0 });
    await expect(promised).rejects.toEqual(TIMEOUT);
    await expect(bucket.wait(1, { timeoutMs: 1e9 })).rejects.toBeInstanceOf(RateLimitError);
    expect(bucket.waitSync(1, { timeoutMs: 1e9 })).toBe(false);
    bucket.reconfigure({ rate: 10 });
    clock.advance(200);
    expect(bucket.waitSync(1)).toBe(true);
  });

  test('pauses a bucket with a quantum, and one without a limit', () => {
    const clock = ManualClock.create();
    const limit = { quantum: 5, fillIntervalMs: 100, burst: 10 };
    const bucket = TokenBucket.create({ ...limit, initial: 0, clock, kernel });
    clock.advance(150);
    bucket.reconfigure({ rate: 0 });
    clock.advance(1000);
    expect(bucket.balance()).toBe(5);
    bucket.reconfigure({ quantum: 2, fillIntervalMs: 10 });
    clock.advance(10);
    expect(bucket.balance()).toBe(7);
    bucket.reconfigure({ rate: Number.POSITIVE_INFINITY });
    bucket.reconfigure({ rate: 0 });
    expect(bucket.consumeOrDrain(100)).toBe(10);
    expect(bucket.consumeOrDrain(100)).toBe(0);
  });

  test('of one limit of a set: a refusal after the clock was set back tells the whole wait', () => {
    const clock = ManualClock.create({ nowMs: 1000 });
    const limits = [
      { rate: 10, burst: 10 },
      { rate: 100, burst: 2 },
    ];
    const set = LimitSet.create({ limits, clock, kernel });
    set.reconfigure({ limits: [{ rate: 0 }, {}] });
    expect(set.tryConsume(2)).toBe(true);
    clock.set(0);
    const { retryAfterMs, nextTokenMs } = set.decide();
    expect([retryAfterMs, nextTokenMs]).toEqual([1010, 1010]);
    clock.set(1009.999);
    expect(set.tryConsume()).toBe(false);
    clock.set(1010);
    expect(set.tryConsume()).toBe(true);
  });

  test('pauses a leaky bucket', () => {
    const clock = ManualClock.create();
    const bucket = LeakyBucket.create({ rate: 10, slack: 1, clock, kernel });
    bucket.reconfigure({ rate: 0 });
    clock.advance(1e6);
    expect([bucket.tryConsume(), bucket.tryConsume()]).toEqual([true, false]);
    bucket.reconfigure({ rate: 10 });
    clock.advance(100);
    expect(bucket.tryConsume()).toBe(true);
  });

  test('given as -0 is 0', () => {
    const { bucket } = made({ rate: -0, burst: 1 });
    expect(bucket.rate).toBe(0);
    bucket.reconfigure({ rate: 1 });
    bucket.reconfigure({ rate: -0 });
    expect(bucket.rate).toBe(0);
    expect(inspect(bucket)).toContain('rate: 0,');
  });

  test('holds callers of allOf in their places until a rate returns', async () => {
    const { clock, bucket } = made({ rate: 10, burst: 5, initial: 0 });
    const both = allOf(FixedWindow.create({ limit: 100, intervalMs: 1e6, clock }), bucket);
    const order: string[] = [];
    const wait = (name: string) => both.wait().then(() => order.push(`${name} ${clock.nowMs}`));
    const waits = [wait('a'), wait('b')];
    clock.advance(50);
    bucket.reconfigure({ rate: 0 });
    waits.push(wait('c'));
    await expect(both.wait(1, { timeoutMs: 1e9 })).rejects.toEqual(TIMEOUT);
    clock.advance(1e4);
    await settled();
    expect([order, both.waiting]).toEqual([[], 3]);
    bucket.reconfigure({ rate: 5 });
    for (const ms of [100, 200, 200]) {
      await settled();
      clock.advance(ms);
    }
    await Promise.all(waits);
    expect(order).toEqual(['a 10150', 'b 10350', 'c 10550']);
  });

  test('from the very instant at which tokens are due leaves them due', () => {
    const instant = fc.record({
      startMs: fc.constantFrom(0, 1e6),
      afterUs: fc.integer({ min: 0, max: 4000 }).map((quarters) => quarters / 4),
      rate: fc.double({ min: 0.1, max: 1e6, noNaN: true }),
      n: fc.integer({ min: 1, max: 10 }),
    });
    const property = fc.property(instant, ({ startMs, afterUs, rate, n }) => {
      const { clock, bucket } = made({ rate, burst: 10, initial: 0 });
      clock.advance(startMs + afterUs / 1000);
      const reservation = bucket.reserve(n);
      if (reservation === undefined || reservation.waitMs === 0) return;
      clock.set(reservation.atUs / 1000);
      bucket.reconfigure({ rate: 0 });
      expect(reservation.dueUs).toBeLessThanOrEqual(reservation.atUs);
    });
    fc.assert(property, { numRuns: 500 });
  });

  test('is over for a blocked thread within a second, even if the resuming thread died before it rang', () => {
    const { clock, bucket } = made({ rate: 0, burst: 1, initial: 0 });
    const terminated = TokenBucket.attach(structuredClone(bucket.handle));
    terminated.changes.fire = () => undefined;
    const looks: number[] = [];
    clock.sleepSync = (untilUs) => {
      if (looks.length === 0) terminated.reconfigure({ rate: 10 });
      looks.push(untilUs);
      clock.set(untilUs / 1000);
    };
    expect(bucket.waitSync()).toBe(true);
    expect(looks).toEqual([1_000_000]);
  });
});
