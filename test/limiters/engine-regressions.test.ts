import { describe, expect, test } from 'vitest';
import { type KernelName, ManualClock, Region, TokenBucket } from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';

const DAY_S = 86_400;
const KERNELS: readonly KernelName[] = ['wasm', 'atomics'];

describe.each(KERNELS)('with the kernel %s', (kernel) => {
  test('a key that takes months to fill is drained of every whole token, and of no more', () => {
    const clock = ManualClock.create();
    const thirds = KeyedTokenBucket.create({ rate: 1e-6, burst: 10, capacity: 8, clock, kernel });
    for (let i = 0; i < 3; i++) thirds.tryConsume('a', 1 / 3);
    expect(thirds.consumeOrDrain('a', 10)).toBe(8);
    for (const days of [30, 60, 90, 180, 365]) {
      for (let burst = 1; burst <= 100; burst++) {
        const rate = burst / (days * DAY_S);
        if (rate < 1e-6) continue;
        const limit = { rate, burst, clock, kernel };
        const keyed = KeyedTokenBucket.create({ ...limit, capacity: 1, whenFull: 'admit' });
        expect(keyed.consumeOrDrain('new', burst), `${burst} in ${days} days`).toBe(burst);
        expect(TokenBucket.create(limit).consumeOrDrain(burst)).toBe(burst);
      }
    }
  });

  test('a bucket on memory that held another bucket keeps its own limit', () => {
    const clock = ManualClock.create();
    const buffer = new SharedArrayBuffer(4096);
    const on = (limit: { rate: number; burst: number }) =>
      TokenBucket.create({ ...limit, clock, kernel, region: Region.create({ buffer }) });
    expect(on({ rate: 100, burst: 100 }).tryConsume(1)).toBe(true);
    const next = on({ rate: 1, burst: 5 });
    expect([next.tryConsume(50), next.tryConsume(5), next.tryConsume()]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('a region on memory that has grown holds limiters in all of it', () => {
    const clock = ManualClock.create();
    const buffer = new SharedArrayBuffer(1024, { maxByteLength: 65_536 });
    const small = Region.create({ buffer });
    TokenBucket.create({ rate: 1, burst: 5, clock, kernel, region: small });
    buffer.grow(65_536);
    const grown = Region.attach(small.handle);
    for (let i = 0; i < 3; i++) {
      const bucket = TokenBucket.create({ rate: 1, burst: 5, clock, kernel, region: grown });
      expect(bucket.consumeOrDrain(9)).toBe(5);
    }
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'no bucket is made on a clock that reads %f',
    (us) => {
      const clock = ManualClock.create();
      clock.now = () => us;
      const damaged = expect.objectContaining({ code: 'ERR_REGION_DAMAGED' });
      const limit = { rate: 1, burst: 2, clock, kernel };
      expect(() => TokenBucket.create(limit)).toThrow(damaged);
      expect(() => KeyedTokenBucket.create({ ...limit, capacity: 4 })).toThrow(damaged);
    },
  );
});
