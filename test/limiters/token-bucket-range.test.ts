import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock, REFUSED, TokenBucket, type TokenBucketOptions } from '../../src/index.ts';
import { manualBucket } from '../support/manual-bucket.ts';
import { SEED } from '../support/random.ts';

const YEAR_MS = 365.25 * 86_400_000;
const RUNS = { seed: SEED, numRuns: 1000 };

const anyRate = fc.double({ min: -6, max: 9.6, noNaN: true }).map((power) => 10 ** power);

describe('a token bucket', () => {
  test('reports the whole tokens left, even months of them', () => {
    for (let perWeek = 1; perWeek <= 200; perWeek++) {
      const { bucket } = manualBucket({ rate: perWeek / (7 * 86_400), burst: 20 * perWeek });
      expect(bucket.decide(perWeek).remaining).toBe(19 * perWeek);
      expect(bucket.consumeOrDrain(1e9)).toBe(19 * perWeek);
    }
  });

  test('that is full admits its burst at once, even a fractional one', () => {
    const burst = fc.double({ min: 1e-3, max: 1000, noNaN: true });
    const property = fc.property(anyRate, burst, (rate, part) => {
      const burst = Math.min(part, 130);
      const { bucket } = manualBucket({ rate, burst });
      expect(bucket.tryConsume(burst)).toBe(true);
      expect(bucket.tryConsume(burst)).toBe(false);
    });
    fc.assert(property, RUNS);
  });

  test('reports when it is full, even if its capacity is more ticks than a double can count', () => {
    const { bucket } = manualBucket({ rate: 1, burst: 52013652.10139176, initial: 0 });
    const { retryAfterMs, resetMs } = bucket.decide(bucket.burst);
    expect(resetMs).toBeCloseTo(52013652101.39176, 3);
    expect(retryAfterMs).toBe(resetMs);
  });

  test('of burst B admits B single tokens and never one more, at any rate', () => {
    const property = fc.property(anyRate, fc.integer({ min: 1, max: 130 }), (rate, burst) => {
      const { bucket } = manualBucket({ rate, burst });
      for (let token = 1; token <= burst; token++) expect(bucket.tryConsume()).toBe(true);
      expect(bucket.tryConsume()).toBe(false);
      expect(bucket.balance()).toBe(0);
    });
    fc.assert(property, RUNS);
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
