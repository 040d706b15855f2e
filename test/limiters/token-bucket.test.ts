import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ManualClock,
  REFUSED,
  systemClock,
  TokenBucket,
  type TokenBucketOptions,
} from '../../src/index.ts';
import { SEED } from '../support/random.ts';

const YEAR_MS = 365.25 * 86_400_000;
const EXCEEDS = expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' });
const RUNS = { seed: SEED, numRuns: 1000 };

function bucketOf(limit: { rate: number; burst: number; initial?: number }) {
  const clock = ManualClock.create();
  return { clock, bucket: TokenBucket.create({ ...limit, clock }) };
}

const anyRate = fc.double({ min: -6, max: 9.6, noNaN: true }).map((power) => 10 ** power);

describe('a token bucket', () => {
  test('starts full, or with `initial` tokens', () => {
    expect(bucketOf({ rate: 10, burst: 5 }).bucket.balance()).toBe(5);
    expect(bucketOf({ rate: 10, burst: 5, initial: 0 }).bucket.balance()).toBe(0);
    expect(bucketOf({ rate: 10, burst: 5, initial: 2.5 }).bucket.balance()).toBe(2.5);
  });

  test('uses the system clock by default, and reports its limit', () => {
    const bucket = TokenBucket.create({ rate: 1e-6, burst: 5 });
    expect(bucket.clock).toBe(systemClock);
    expect([bucket.rate, bucket.burst]).toEqual([1e-6, 5]);
    expect(bucket.consumeOrDrain(9)).toBe(5);
    expect(bucket.tryConsume()).toBe(false);
  });

  // Each step: time on a manual clock, tokens requested, answer, tokens left.
  test.each([
    [
      'takes all or nothing',
      [
        [0, 3, true, 2],
        [0, 3, false, 2],
        [0, 2, true, 0],
        [0, 1, false, 0],
      ],
    ],
    [
      'fills at its rate',
      [
        [0, 5, true, 0],
        [50, 1, false, 0.5],
        [100, 1, true, 0],
        [350, 2, true, 0.5],
      ],
    ],
    [
      'is never fuller than full',
      [
        [0, 5, true, 0],
        [9000, 5, true, 0],
        [9000, 1, false, 0],
      ],
    ],
    [
      'takes fractions',
      [
        [0, 0.5, true, 4.5],
        [0, 4.25, true, 0.25],
        [0, 0.5, false, 0.25],
      ],
    ],
    [
      'takes nothing for 0',
      [
        [0, 5, true, 0],
        [0, 0, true, 0],
        [0, 0, true, 0],
      ],
    ],
    [
      'never gives more than its burst',
      [
        [0, 6, false, 5],
        [9000, 5.001, false, 5],
        [9000, 5, true, 0],
      ],
    ],
    [
      'keeps its tokens when time goes back',
      [
        [100, 5, true, 0],
        [50, 1, false, -0.5],
        [200, 1, true, 0],
      ],
    ],
  ] as const)('%s', (_, steps) => {
    const { clock, bucket } = bucketOf({ rate: 10, burst: 5 });
    for (const [ms, n, admitted, left] of steps) {
      clock.set(ms);
      expect(bucket.tryConsume(n), `${n} at ${ms} ms`).toBe(admitted);
      expect(bucket.balance(), `left at ${ms} ms`).toBe(left);
    }
  });

  test('takes one token by default', () => {
    const { bucket } = bucketOf({ rate: 10, burst: 5 });
    expect([bucket.tryConsume(), bucket.decide().remaining]).toEqual([true, 3]);
    expect([bucket.acquire(), bucket.reserve()?.waitMs, bucket.waitSync()]).toEqual([0, 0, true]);
    expect(bucket.balance()).toBe(0);
  });

  test.each(['wasm', 'atomics'] as const)('drains nothing in debt, with kernel %s', (kernel) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 5, initial: 0, clock, kernel });
    bucket.acquire(5);
    expect(bucket.consumeOrDrain(5)).toBe(0);
    expect(bucket.balance()).toBe(-5);
  });

  test.each(['wasm', 'atomics'] as const)(
    'reports the balance of a bucket after idling, with kernel %s',
    (kernel) => {
      const clock = ManualClock.create();
      const bucket = TokenBucket.create({ rate: 10, burst: 5, initial: 0, clock, kernel });
      clock.advance(3_600_000);
      expect(bucket.decide(2)).toMatchObject({ allowed: true, remaining: 3, resetMs: 200 });
      expect(bucket.decide(4)).toMatchObject({ allowed: false, remaining: 3, retryAfterMs: 100 });
    },
  );

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

  test('admits 0 tokens even in debt, and takes nothing', async () => {
    const { bucket } = bucketOf({ rate: 10, burst: 5, initial: 0 });
    bucket.acquire(5);
    expect(bucket.tryConsume(0)).toBe(true);
    expect(bucket.consumeOrDrain(0)).toBe(0);
    expect(bucket.acquire(0, 0)).toBe(0);
    expect(bucket.decide(0)).toMatchObject({ allowed: true, retryAfterMs: 0, remaining: 0 });
    expect(bucket.reserve(0)?.waitMs).toBe(0);
    expect(bucket.waitSync(0)).toBe(true);
    await bucket.wait(0);
    bucket.returnTokens(0);
    expect(bucket.balance()).toBe(-5);
    expect(bucket.available()).toBe(0);
  });

  test('reports more than its burst as never possible', async () => {
    const { bucket } = bucketOf({ rate: 10, burst: 5 });
    expect(bucket.tryConsume(6)).toBe(false);
    expect(() => bucket.acquire(6)).toThrow(EXCEEDS);
    expect(() => bucket.acquire(6, 0)).toThrow(EXCEEDS);
    expect(bucket.decide(6)).toEqual({
      allowed: false,
      limit: 5,
      remaining: 5,
      retryAfterMs: Number.POSITIVE_INFINITY,
      resetMs: 0,
    });
    expect(bucket.timeUntil(6)).toBe(Number.POSITIVE_INFINITY);
    expect(() => bucket.reserve(6)).toThrow(EXCEEDS);
    expect(() => bucket.waitSync(6, { timeoutMs: 0 })).toThrow(EXCEEDS);
    await expect(bucket.wait(6)).rejects.toEqual(EXCEEDS);
    expect(bucket.tryConsume(1e300)).toBe(false);
    expect(bucket.consumeOrDrain(6)).toBe(5);
  });

  test('decides and reports its state', () => {
    const { clock, bucket } = bucketOf({ rate: 10, burst: 5 });
    const stand = { limit: 5, retryAfterMs: 0 };
    expect(bucket.decide(2)).toEqual({ ...stand, allowed: true, remaining: 3, resetMs: 200 });
    expect(bucket.decide(4)).toEqual({
      allowed: false,
      limit: 5,
      remaining: 3,
      retryAfterMs: 100,
      resetMs: 200,
    });
    bucket.acquire(5);
    clock.advance(50);
    expect(bucket.decide(1)).toMatchObject({ remaining: 0, retryAfterMs: 250, resetMs: 650 });
    expect(bucket.available()).toBe(0);
    expect(bucket.timeUntil(0)).toBe(150);
    expect(bucket.timeUntil(5)).toBe(650);
  });

  test('reports the whole tokens left, even months of them', () => {
    for (let perWeek = 1; perWeek <= 200; perWeek++) {
      const { bucket } = bucketOf({ rate: perWeek / (7 * 86_400), burst: 20 * perWeek });
      expect(bucket.decide(perWeek).remaining).toBe(19 * perWeek);
      expect(bucket.consumeOrDrain(1e9)).toBe(19 * perWeek);
    }
  });

  test('drains whole tokens, at most as many as requested', () => {
    const { clock, bucket } = bucketOf({ rate: 10, burst: 5 });
    expect(bucket.consumeOrDrain(2.9)).toBe(2);
    clock.advance(70);
    expect(bucket.consumeOrDrain(100)).toBe(3);
    expect(bucket.consumeOrDrain(100)).toBe(0);
    expect(bucket.balance()).toBeCloseTo(0.7, 9);
  });

  test('accepts returned tokens, up to its burst', () => {
    const { bucket } = bucketOf({ rate: 10, burst: 5 });
    bucket.tryConsume(4);
    bucket.returnTokens(1.5);
    expect(bucket.balance()).toBe(2.5);
    bucket.returnTokens(1e300);
    expect(bucket.balance()).toBe(5);
  });

  test('that is full admits its burst at once, even a fractional one', () => {
    const burst = fc.double({ min: 1e-3, max: 1000, noNaN: true });
    const property = fc.property(anyRate, burst, (rate, part) => {
      const burst = Math.min(part, 130);
      const { bucket } = bucketOf({ rate, burst });
      expect(bucket.tryConsume(burst)).toBe(true);
      expect(bucket.tryConsume(burst)).toBe(false);
    });
    fc.assert(property, RUNS);
  });

  test('reports when it is full, even if its capacity is more ticks than a double can count', () => {
    const { bucket } = bucketOf({ rate: 1, burst: 52013652.10139176, initial: 0 });
    const { retryAfterMs, resetMs } = bucket.decide(bucket.burst);
    expect(resetMs).toBeCloseTo(52013652101.39176, 3);
    expect(retryAfterMs).toBe(resetMs);
  });

  test('of burst B admits B single tokens and never one more, at any rate', () => {
    const property = fc.property(anyRate, fc.integer({ min: 1, max: 130 }), (rate, burst) => {
      const { bucket } = bucketOf({ rate, burst });
      for (let token = 1; token <= burst; token++) expect(bucket.tryConsume()).toBe(true);
      expect(bucket.tryConsume()).toBe(false);
      expect(bucket.balance()).toBe(0);
    });
    fc.assert(property, RUNS);
  });

  test('is full after ten years of idling, and no fuller', () => {
    const property = fc.property(anyRate, fc.integer({ min: 1, max: 130 }), (rate, burst) => {
      const { clock, bucket } = bucketOf({ rate, burst });
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
    const { bucket } = bucketOf({ rate: 1e-6, burst: 100, initial: 0 });
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
        const decision = { allowed: true, limit, remaining: rate, retryAfterMs: 0, resetMs: 0 };
        expect(bucket.decide(3)).toEqual(decision);
      }
    },
  );
});
