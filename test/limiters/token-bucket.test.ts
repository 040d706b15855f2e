import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  LeakyBucket,
  ManualClock,
  REFUSED,
  systemClock,
  TokenBucket,
  type TokenBucketOptions,
} from '../../src/index.ts';
import { manualBucket } from '../support/manual-bucket.ts';

describe('a token bucket', () => {
  test('starts full, or with `initial` tokens', () => {
    expect(manualBucket({ rate: 10, burst: 5 }).bucket.balance()).toBe(5);
    expect(manualBucket({ rate: 10, burst: 5, initial: 0 }).bucket.balance()).toBe(0);
    expect(manualBucket({ rate: 10, burst: 5, initial: 2.5 }).bucket.balance()).toBe(2.5);
  });

  test('uses the system clock by default, and reports its limit', () => {
    const bucket = TokenBucket.create({ rate: 1e-6, burst: 5 });
    expect(bucket.clock).toBe(systemClock);
    expect([bucket.rate, bucket.burst]).toEqual([1e-6, 5]);
    expect(bucket.consumeOrDrain(9)).toBe(5);
    expect(bucket.tryConsume()).toBe(false);
  });

  test('counts no refusal if no whole token was requested', () => {
    const bucket = TokenBucket.create({
      rate: 10,
      burst: 5,
      stats: true,
      clock: ManualClock.create(),
    });
    expect(bucket.consumeOrDrain(0.5)).toBe(0);
    expect(bucket.stats()).toMatchObject({ calls: 1, admitted: 0, refused: 0 });
    expect(bucket.consumeOrDrain(9)).toBe(5);
    expect(bucket.consumeOrDrain(1)).toBe(0);
    expect(bucket.stats()).toMatchObject({ calls: 3, admitted: 5, refused: 1 });
  });
});

const DAY_MS = 86_400_000;
const MIDNIGHT_MS = Date.UTC(2030, 0, 1);
const quota = { quantum: 100, fillIntervalMs: DAY_MS, burst: 100 };

describe('a quota that is aligned', () => {
  test.each([
    ['before', MIDNIGHT_MS - 5 * DAY_MS],
    ['after', MIDNIGHT_MS + 3 * DAY_MS],
    ['on the day', MIDNIGHT_MS],
  ])('resets at midnight UTC, with an instant %s', (_, alignToMs) => {
    const clock = ManualClock.create({ nowMs: MIDNIGHT_MS - 3_600_000 });
    const bucket = TokenBucket.create({ ...quota, alignToMs, clock });
    expect(bucket.consumeOrDrain(100)).toBe(100);
    expect(bucket.timeUntil(1)).toBe(3_600_000);
    clock.advance(3_599_999);
    expect(bucket.available()).toBe(0);
    clock.advance(1);
    expect(bucket.consumeOrDrain(70)).toBe(70);
    clock.advance(DAY_MS - 1);
    expect(bucket.available()).toBe(30);
    clock.advance(1);
    expect(bucket.available()).toBe(100);
  });

  test('keeps its initial tokens until the next fill', () => {
    const clock = ManualClock.create({ nowMs: MIDNIGHT_MS + 1 });
    const bucket = TokenBucket.create({ ...quota, initial: 7, alignToMs: 0, clock });
    expect(bucket.available()).toBe(7);
    // [where the grid is, from now, how long until its next instant]
    for (const [offsetMs, leftMs] of [
      [6, 6],
      [0, DAY_MS],
    ] as const) {
      const empty = { ...quota, initial: 0, alignToMs: clock.nowMs + offsetMs, clock };
      expect(TokenBucket.create(empty).timeUntil(1)).toBe(leftMs);
    }
  });

  test('follows the wall clock at creation, on the system clock', () => {
    vi.spyOn(Date, 'now').mockReturnValue(MIDNIGHT_MS + 60_000);
    const bucket = TokenBucket.create({ ...quota, initial: 0, alignToMs: MIDNIGHT_MS });
    const leftMs = bucket.timeUntil(1);
    expect(leftMs).toBeGreaterThan(DAY_MS - 120_000);
    expect(leftMs).toBeLessThanOrEqual(DAY_MS - 60_000);
  });

  test('needs a quantum, and an instant that a date can have', () => {
    expect(() => TokenBucket.create({ rate: 1, burst: 1, alignToMs: 0 })).toThrow(
      new TypeError('alignToMs needs a quantum and fillIntervalMs'),
    );
    expect(() => TokenBucket.create({ ...quota, alignToMs: 1e16 })).toThrow(/^alignToMs must be/);
    const date = new Date(0) as unknown as number;
    expect(() => TokenBucket.create({ ...quota, alignToMs: date })).toThrow(TypeError);
  });
});

const YEAR_MS = 365.25 * 86_400_000;
const RUNS = { numRuns: 1000 };

const anyRate = fc.double({ min: -6, max: 9.6, noNaN: true }).map((power) => 10 ** power);

describe('a token bucket', () => {
  test('reports the whole tokens left, even months of them', () => {
    for (let perWeek = 1; perWeek <= 200; perWeek++) {
      const { bucket } = manualBucket({ rate: perWeek / (7 * 86_400), burst: 20 * perWeek });
      expect(bucket.decide(perWeek).remaining).toBe(19 * perWeek);
      expect(bucket.consumeOrDrain(1e9)).toBe(19 * perWeek);
    }
  });

  test('reports when it is full, even if its capacity is more ticks than a double can count', () => {
    const { bucket } = manualBucket({ rate: 1, burst: 52013652.10139176, initial: 0 });
    const { retryAfterMs, resetMs } = bucket.decide(bucket.burst);
    expect(resetMs).toBeCloseTo(52013652101.39176, 3);
    expect(retryAfterMs).toBe(resetMs);
  });

  test('is full after ten years of idling, and no fuller', () => {
    const property = fc.property(anyRate, fc.integer({ min: 1, max: 130 }), (rate, burst) => {
      const { clock, bucket } = manualBucket({ rate, burst });
      bucket.acquire(burst);
      clock.advance(10 * YEAR_MS);
      expect(bucket.consumeOrDrain(1000)).toBe(burst);
      expect(bucket.consumeOrDrain(1000)).toBe(0);
      // And a microsecond: after ten years the clock counts sixteenths of one.
      clock.advance(((burst + 1) / rate) * 1000 + 0.001);
      expect(bucket.consumeOrDrain(1000)).toBe(burst);
    });
    fc.assert(property, { ...RUNS, examples: [[62523076.923077, 126]] });
  });

  test('grants tokens up to 4.4 years ahead, and refuses beyond', async () => {
    const { bucket } = manualBucket({ rate: 1e-6, burst: 100, initial: 0 });
    expect(bucket.acquire(100)).toBeCloseTo(1e11, 0);
    expect(bucket.acquire(100)).toBe(REFUSED);
    expect(bucket.reserve(100)).toBe(undefined);
    await expect(bucket.wait(100)).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_RATE_LIMIT_TIMEOUT' }),
    );
    expect(bucket.balance()).toBe(-100);
  });
});

describe('a bucket of infinite rate', () => {
  test.each([{}, { burst: 5 }, { burst: Number.POSITIVE_INFINITY }])(
    'admits everything: %j',
    (given) => {
      const clock = ManualClock.create({ nowMs: 1000 });
      const rate = Number.POSITIVE_INFINITY;
      const bucket = TokenBucket.create({ rate, ...given, clock } as TokenBucketOptions);
      for (const ms of [1000, 0, 5000]) {
        clock.set(ms);
        expect(bucket.tryConsume(1e300)).toBe(true);
        expect(bucket.consumeOrDrain(12.5)).toBe(12);
        expect(bucket.acquire(7)).toBe(0);
        expect(bucket.reserve(7)?.waitMs).toBe(0);
        bucket.returnTokens(9);
        expect(bucket.balance()).toBe(rate);
        expect(bucket.timeUntil(1e9)).toBe(0);
        const { burst: limit = rate } = given;
        expect(bucket.decide(3)).toEqual({
          allowed: true,
          limit,
          remaining: rate,
          retryAfterMs: 0,
          resetMs: 0,
          nextTokenMs: Number.POSITIVE_INFINITY,
        });
      }
    },
  );
});

function paced(limit: { rate: number; slack?: number }) {
  const clock = ManualClock.create();
  return { clock, bucket: LeakyBucket.create({ ...limit, clock }) };
}

describe('a leaky bucket', () => {
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
