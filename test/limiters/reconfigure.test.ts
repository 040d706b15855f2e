import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  FixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  LeakyBucket,
  LimitSet,
  ManualClock,
  TokenBucket,
} from '../../src/index.ts';

function drained(options: { rate: number; burst: number }) {
  const clock = ManualClock.create();
  return { clock, bucket: TokenBucket.create({ ...options, initial: 0, clock }) };
}

describe('reconfigure', () => {
  test('to a limit at which a debt would last for centuries cuts it to years', () => {
    const { clock, bucket } = drained({ rate: 1e6, burst: 1e6 });
    for (let i = 0; i < 1000; i++) bucket.acquire(1e6);
    // 1e9 tokens at one per eleven days.
    bucket.reconfigure({ rate: 1e-6, burst: 1 });
    const years = bucket.timeUntil(1) / (365.25 * 86_400_000);
    // 2^59 ticks of debt, and one token.
    expect(years).toBeCloseTo(4.46 + 0.03, 2);
    clock.advance(1);
    expect(bucket.tryConsume()).toBe(false);
  });

  test('keeps the values of omitted fields', () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 100, clock });
    bucket.reconfigure({ burst: 5 });
    expect([bucket.rate, bucket.burst]).toEqual([10, 5]);
    bucket.reconfigure({ rate: 3 });
    expect([bucket.rate, bucket.burst]).toEqual([3, 5]);
    bucket.reconfigure({ quantum: 2, fillIntervalMs: 100 });
    expect([bucket.rate, bucket.burst]).toEqual([20, 5]);
    bucket.reconfigure({ quantum: 4 });
    expect([bucket.rate, bucket.burst]).toEqual([40, 5]);
    bucket.reconfigure({ fillIntervalMs: 200 });
    expect([bucket.rate, bucket.burst]).toEqual([20, 5]);
    bucket.reconfigure({ rate: 7 });
    expect([bucket.rate, bucket.burst]).toEqual([7, 5]);
    const leaky = LeakyBucket.create({ rate: 10, slack: 3, clock });
    leaky.reconfigure({ rate: 20 });
    expect([leaky.rate, leaky.slack]).toEqual([20, 3]);
    leaky.reconfigure({ slack: 0 });
    expect([leaky.rate, leaky.slack]).toEqual([20, 0]);
  });

  test('takes an undefined field for an omitted one, in every limiter', () => {
    const clock = ManualClock.create();
    const [rate, burst] = [undefined, 6];
    const change: object = { rate, burst };
    const bucket = TokenBucket.create({ rate: 10, burst: 5, clock });
    bucket.reconfigure(change);
    expect([bucket.rate, bucket.burst]).toEqual([10, 6]);
    const fills = { quantum: 10, fillIntervalMs: 100 };
    const quantum = TokenBucket.create({ ...fills, burst: 5, clock });
    quantum.reconfigure({ ...change, quantum: 20, fillIntervalMs: rate } as object);
    expect([quantum.rate, quantum.burst]).toEqual([200, 6]);
    const leaky = LeakyBucket.create({ rate: 10, slack: 3, clock });
    leaky.reconfigure({ rate, slack: rate } as object);
    expect([leaky.rate, leaky.slack]).toEqual([10, 3]);
    const set = LimitSet.create({ limits: [{ rate: 10, burst: 5 }], clock });
    set.reconfigure({ limits: [change] });
    const table = { capacity: 10, clock };
    const keyedSet = KeyedLimitSet.create({ ...table, limits: [{ rate: 10, burst: 5 }] });
    keyedSet.reconfigure({ limits: [change] });
    expect([...set.limits, ...keyedSet.limits]).toEqual(Array(2).fill({ rate: 10, burst: 6 }));
    const keyed = KeyedTokenBucket.create({ ...table, rate: 10, burst: 5 });
    keyed.reconfigure(change);
    expect([keyed.rate, keyed.burst]).toEqual([10, 6]);
    const window = FixedWindow.create({ limit: 5, intervalMs: 1000, clock });
    window.reconfigure({ limit: 6, intervalMs: rate } as object);
    expect([window.limit, window.intervalMs]).toEqual([6, 1000]);
  });

  test('to another kind of limit keeps the tokens', () => {
    const { clock, bucket } = drained({ rate: 10, burst: 100 });
    clock.advance(450);
    bucket.reconfigure({ quantum: 5, fillIntervalMs: 100 });
    expect(bucket.balance()).toBe(4.5);
    clock.advance(99);
    expect(bucket.balance()).toBe(4.5);
    clock.advance(1);
    expect(bucket.balance()).toBe(9.5);
    bucket.reconfigure({ rate: 10 });
    expect(bucket.balance()).toBe(9.5);
    clock.advance(50);
    expect(bucket.balance()).toBe(10);
  });

  test('to unlimited and back leaves a full bucket', () => {
    const { bucket } = drained({ rate: 10, burst: 100 });
    bucket.acquire(100);
    bucket.reconfigure({ rate: Number.POSITIVE_INFINITY });
    expect(bucket.tryConsume(1e9)).toBe(true);
    expect(bucket.balance()).toBe(Number.POSITIVE_INFINITY);
    bucket.reconfigure({ rate: 10 });
    expect(bucket.balance()).toBe(100);
  });

  test('to an invalid limit throws and keeps the current one', () => {
    const { clock, bucket } = drained({ rate: 10, burst: 100 });
    expect(() => bucket.reconfigure({ rate: -1 })).toThrow(RangeError);
    expect(() => bucket.reconfigure({ rate: 1e-7 })).toThrow(RangeError);
    expect(() => bucket.reconfigure({ burst: -1 })).toThrow(RangeError);
    expect(() => bucket.reconfigure({ quantum: 5 })).toThrow(/^fillIntervalMs must be/);
    expect(() => bucket.reconfigure({ fillIntervalMs: 5 })).toThrow(/^quantum must be/);
    expect(() => bucket.reconfigure({ rate: 5, quantum: 5 })).toThrow(TypeError);
    clock.advance(1000);
    expect([bucket.rate, bucket.burst, bucket.balance()]).toEqual([10, 100, 10]);
  });

  test('of the burst or the quantum alone keeps the instants of the fills', () => {
    const limit = fc.record({
      quantum: fc.integer({ min: 1, max: 100 }),
      fillIntervalMs: fc.double({ min: 0.01, max: 10_000, noNaN: true }),
      burst: fc.constant(1000),
    });
    const property = fc.property(limit, fc.integer({ min: 1, max: 100 }), (limit, quantum) => {
      const clock = ManualClock.create();
      const bucket = TokenBucket.create({ ...limit, initial: 0, clock });
      // 0.75 of an interval has passed, so the next fill comes after another 0.25.
      clock.advance(0.75 * limit.fillIntervalMs);
      for (const change of [{ burst: 500 }, { quantum }, { burst: 1000 }]) {
        bucket.reconfigure(change);
        const left = bucket.timeUntil(1) / limit.fillIntervalMs;
        expect(left, JSON.stringify(change)).toBeCloseTo(0.25, 3);
      }
    });
    fc.assert(property, { numRuns: 1000 });
  });

  test('to another interval restarts the fills', () => {
    const clock = ManualClock.create();
    const every = { quantum: 5, fillIntervalMs: 100 };
    const bucket = TokenBucket.create({ ...every, burst: 100, initial: 0, clock });
    clock.advance(130);
    bucket.reconfigure({ fillIntervalMs: 200 });
    expect(bucket.timeUntil(6)).toBe(200);
    clock.advance(150);
    // A difference of 1e-6 is another interval; one of 1e-13 is a rounding.
    bucket.reconfigure({ fillIntervalMs: 200 * (1 + 1e-6) });
    expect(bucket.timeUntil(6)).toBeCloseTo(200, 3);
    clock.advance(50);
    bucket.reconfigure({ fillIntervalMs: 200 * (1 + 1e-6) * (1 + 1e-13) });
    expect(bucket.timeUntil(6)).toBeCloseTo(150, 3);
  });

  test('loses less than one tick each time', () => {
    const { bucket } = drained({ rate: 10, burst: 100 });
    bucket.returnTokens(50);
    const rates = [7, 1 / 3, 99.9, 12_345.678, 10];
    for (let i = 0; i < 10_000; i++) bucket.reconfigure({ rate: rates[i % rates.length] ?? 10 });
    expect(bucket.balance()).toBeLessThanOrEqual(50);
    expect(bucket.balance()).toBeGreaterThan(50 - (10_000 * 12_345.678) / 4096e6);
  });
});
