import { describe, expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';

const KERNELS = ['wasm', 'atomics'] as const;

describe.each(KERNELS)('charge, with kernel %s,', (kernel) => {
  const made = (limit = { rate: 10, burst: 5 }) => {
    const clock = ManualClock.create();
    return { clock, bucket: TokenBucket.create({ ...limit, clock, kernel, stats: true }) };
  };

  test('of more than 4.4 years is an error that takes nothing', () => {
    const { bucket } = made({ rate: 1, burst: 1 });
    expect(() => bucket.charge(2e8)).toThrow(
      new RangeError('n must leave a debt of at most 4.4 years, got 200000000'),
    );
    expect(bucket.balance()).toBe(1);
    expect(() => bucket.charge(-1)).toThrow(/^n must be a number at least 0, got -1$/);
    expect(() => bucket.charge('1' as unknown as number)).toThrow(TypeError);
  });

  test('costs nothing where the rate is unlimited', () => {
    const bucket = TokenBucket.create({ rate: Number.POSITIVE_INFINITY, kernel, burst: 1 });
    expect(bucket.charge(1e12)).toBe(0);
    expect(bucket.tryConsume()).toBe(true);
  });
});

describe.each(KERNELS)('settle, with kernel %s,', (kernel) => {
  const made = () => {
    const clock = ManualClock.create();
    return { clock, bucket: TokenBucket.create({ rate: 10, burst: 100, clock, kernel }) };
  };

  test('corrects an estimate up or down', () => {
    const { bucket } = made();
    expect(bucket.decide(40).allowed).toBe(true);
    expect(bucket.settle(40, 25)).toBe(0);
    expect(bucket.balance()).toBe(75);
    expect(bucket.tryConsume(70)).toBe(true);
    expect(bucket.settle(70, 90)).toBe(1500);
    expect(bucket.balance()).toBe(-15);
    expect(bucket.settle(5, 5)).toBe(0);
    expect(bucket.balance()).toBe(-15);
  });

  test('of a reservation starts from its amount, then from the settled amount', () => {
    const { bucket } = made();
    const reservation = bucket.reserve(40);
    expect(reservation?.settle(10)).toBe(0);
    expect(bucket.balance()).toBe(90);
    expect(reservation?.settle(95)).toBe(0);
    expect(bucket.balance()).toBe(5);
    expect(reservation?.settle(0)).toBe(0);
    expect(bucket.balance()).toBe(100);
    expect(reservation?.cancel()).toBe(false);
    expect(() => reservation?.settle(-1)).toThrow(/^actual must be a number at least 0, got -1$/);
  });

  test('of a reservation that can no longer be cancelled charges the difference', () => {
    const { bucket } = made();
    const reservation = bucket.reserve(40);
    bucket.tryConsume();
    expect(reservation?.cancel()).toBe(false);
    reservation?.settle(50);
    expect(bucket.balance()).toBe(49);
  });

  test('of a reservation that was cancelled charges the whole cost', () => {
    const { bucket } = made();
    const reservation = bucket.reserve(40);
    expect(reservation?.cancel()).toBe(true);
    expect(bucket.tryConsume(80)).toBe(true);
    expect(reservation?.settle(10)).toBe(0);
    expect(bucket.balance()).toBe(10);
    expect(reservation?.settle(5)).toBe(0);
    expect(bucket.balance()).toBe(15);
  });

  test('of a reservation that cannot be charged changes nothing', () => {
    const { bucket } = made();
    const reservation = bucket.reserve(40);
    expect(() => reservation?.settle(1e18)).toThrow(/^n must leave a debt of at most 4.4 years/);
    expect(reservation?.settle(50)).toBe(0);
    expect(bucket.balance()).toBe(50);
    const other = bucket.reserve(10);
    expect(() => other?.settle(-1)).toThrow(/^actual must be/);
    expect(other?.cancel()).toBe(true);
  });

  test('names the parameter that is wrong, and changes nothing', () => {
    const { bucket } = made();
    expect(() => bucket.settle(Number.NaN, 1)).toThrow(/^estimated must be/);
    expect(() => bucket.settle(1, Number.POSITIVE_INFINITY)).toThrow(/^actual must be/);
    expect(bucket.balance()).toBe(100);
  });

  test('downwards lets callers that wait move up', async () => {
    const { clock, bucket } = made();
    bucket.tryConsume(100);
    const order: number[] = [];
    const waits = [1, 2, 3].map((n) => bucket.wait(10 * n).then(() => order.push(n)));
    clock.advance(500);
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    bucket.settle(100, 94.5); // 5 tokens have arrived for the first, which misses 5
    await waits[0];
    expect(order).toEqual([1]);
    bucket.settle(94.5, 45);
    await Promise.all(waits);
    expect(order).toEqual([1, 2, 3]);
    expect(bucket.balance()).toBe(0);
  });
});
