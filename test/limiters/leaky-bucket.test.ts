import { describe, expect, test } from 'vitest';
import { LeakyBucket, ManualClock, systemClock } from '../../src/index.ts';

function paced(limit: { rate: number; slack?: number }) {
  const clock = ManualClock.create();
  return { clock, bucket: LeakyBucket.create({ ...limit, clock }) };
}

describe('a leaky bucket', () => {
  test('lets one through now, and then one every 1/rate', () => {
    const { clock, bucket } = paced({ rate: 1000 });
    expect(Array.from({ length: 5 }, () => bucket.acquire())).toEqual([0, 1, 2, 3, 4]);
    clock.advance(4.5);
    expect(bucket.acquire()).toBe(0.5);
  });

  test('does not catch up after idling: unused slots expire', () => {
    const { clock, bucket } = paced({ rate: 1000 });
    bucket.acquire();
    clock.advance(60_000);
    expect(Array.from({ length: 4 }, () => bucket.acquire())).toEqual([0, 1, 2, 3]);
  });

  test('makes up for as many missed slots as its slack, and no more', () => {
    const { clock, bucket } = paced({ rate: 1000, slack: 3 });
    expect(bucket.acquire(), 'no slack is earned yet').toBe(0);
    expect(bucket.acquire()).toBe(1);
    clock.advance(60_000);
    const waits = Array.from({ length: 6 }, () => bucket.acquire());
    expect(waits).toEqual([0, 0, 0, 0, 1, 2]);
  });

  test('earns its slack while it idles, slot by slot', () => {
    const { clock, bucket } = paced({ rate: 1000, slack: 3 });
    bucket.acquire();
    clock.advance(2);
    expect(bucket.available()).toBe(2);
    clock.advance(1.5);
    expect(bucket.available()).toBe(3.5);
    clock.advance(9);
    expect(bucket.available()).toBe(4);
  });

  test('refuses more than 1 + slack at once', () => {
    const { bucket } = paced({ rate: 1000, slack: 1.5 });
    expect(bucket.tryConsume(2.6)).toBe(false);
    expect(bucket.timeUntil(2.6)).toBe(Number.POSITIVE_INFINITY);
    expect(bucket.timeUntil(2.5)).toBe(1.5);
  });

  test('names slack where it is too large', () => {
    expect(() => paced({ rate: 1, slack: 1e9 })).toThrow(
      new RangeError('slack must be at most 140737487 at rate 1, got 1000000000'),
    );
    expect(() => paced({ rate: 1 }).bucket.reconfigure({ slack: 1e9 })).toThrow(/^slack must be/);
  });

  test('keeps the pace over a million slots, exact to the tick', () => {
    const { clock, bucket } = paced({ rate: 3 });
    let lastMs = 0;
    for (let slot = 0; slot < 1_000_000; slot++) lastMs = bucket.acquire();
    expect(lastMs).toBeCloseTo((999_999 / 3) * 1000, 3);
    clock.set(lastMs);
    expect(bucket.balance()).toBe(0);
  });

  test('uses the system clock by default, and reports its limit', () => {
    const bucket = LeakyBucket.create({ rate: 1e-6 });
    expect(bucket.clock).toBe(systemClock);
    expect([bucket.rate, bucket.slack]).toEqual([1e-6, 0]);
    expect([bucket.tryConsume(), bucket.tryConsume()]).toEqual([true, false]);
    expect(LeakyBucket.create({ rate: 1, slack: 4 }).slack).toBe(4);
  });

  test('of infinite rate admits everything', () => {
    const { clock, bucket } = paced({ rate: Number.POSITIVE_INFINITY });
    for (let i = 0; i < 100; i++) expect(bucket.acquire()).toBe(0);
    clock.set(-5);
    expect(bucket.timeUntil(1)).toBe(0);
  });
});
