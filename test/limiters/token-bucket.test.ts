import { describe, expect, test, vi } from 'vitest';
import { ManualClock, systemClock, TokenBucket } from '../../src/index.ts';
import { manualBucket } from '../support/manual-bucket.ts';

const EXCEEDS = expect.objectContaining({ code: 'ERR_EXCEEDS_BURST' });

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
    const { clock, bucket } = manualBucket({ rate: 10, burst: 5 });
    for (const [ms, n, admitted, left] of steps) {
      clock.set(ms);
      expect(bucket.tryConsume(n), `${n} at ${ms} ms`).toBe(admitted);
      expect(bucket.balance(), `left at ${ms} ms`).toBe(left);
    }
  });

  test('takes one token by default', () => {
    const { bucket } = manualBucket({ rate: 10, burst: 5 });
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
    const { bucket } = manualBucket({ rate: 10, burst: 5, initial: 0 });
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
    const { bucket } = manualBucket({ rate: 10, burst: 5 });
    expect(bucket.tryConsume(6)).toBe(false);
    expect(() => bucket.acquire(6)).toThrow(EXCEEDS);
    expect(() => bucket.acquire(6, 0)).toThrow(EXCEEDS);
    expect(bucket.decide(6)).toEqual({
      allowed: false,
      limit: 5,
      remaining: 5,
      retryAfterMs: Number.POSITIVE_INFINITY,
      resetMs: 0,
      nextTokenMs: Number.POSITIVE_INFINITY,
    });
    expect(bucket.timeUntil(6)).toBe(Number.POSITIVE_INFINITY);
    expect(() => bucket.reserve(6)).toThrow(EXCEEDS);
    expect(() => bucket.waitSync(6, { timeoutMs: 0 })).toThrow(EXCEEDS);
    await expect(bucket.wait(6)).rejects.toEqual(EXCEEDS);
    expect(bucket.tryConsume(1e300)).toBe(false);
    expect(bucket.consumeOrDrain(6)).toBe(5);
  });

  test('decides and reports its state', () => {
    const { clock, bucket } = manualBucket({ rate: 10, burst: 5 });
    const stand = { limit: 5, retryAfterMs: 0, nextTokenMs: 100 };
    expect(bucket.decide(2)).toEqual({ ...stand, allowed: true, remaining: 3, resetMs: 200 });
    expect(bucket.decide(4)).toEqual({
      allowed: false,
      limit: 5,
      remaining: 3,
      retryAfterMs: 100,
      resetMs: 200,
      nextTokenMs: 100,
    });
    bucket.acquire(5);
    clock.advance(50);
    expect(bucket.decide(1)).toMatchObject({
      remaining: 0,
      retryAfterMs: 250,
      resetMs: 650,
      nextTokenMs: 250,
    });
    expect(bucket.available()).toBe(0);
    expect(bucket.timeUntil(0)).toBe(150);
    expect(bucket.timeUntil(5)).toBe(650);
  });

  test('drains whole tokens, at most as many as requested', () => {
    const { clock, bucket } = manualBucket({ rate: 10, burst: 5 });
    expect(bucket.consumeOrDrain(2.9)).toBe(2);
    clock.advance(70);
    expect(bucket.consumeOrDrain(100)).toBe(3);
    expect(bucket.consumeOrDrain(100)).toBe(0);
    expect(bucket.balance()).toBeCloseTo(0.7, 9);
  });

  test('accepts returned tokens, up to its burst', () => {
    const { bucket } = manualBucket({ rate: 10, burst: 5 });
    bucket.tryConsume(4);
    bucket.returnTokens(1.5);
    expect(bucket.balance()).toBe(2.5);
    bucket.returnTokens(1e300);
    expect(bucket.balance()).toBe(5);
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
