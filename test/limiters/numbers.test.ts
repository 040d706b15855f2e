import { describe, expect, test } from 'vitest';
import { type KernelName, ManualClock, Region, TokenBucket } from '../../src/index.ts';
import { KeyedTokenBucket } from '../../src/keyed.ts';
import { Random, SEED } from '../support/random.ts';
import { Rational } from '../support/rational.ts';

const CASES = 500;
const EIGHT_YEARS_US = 8 * 365.25 * 86_400e6;
const MILLION = Rational.of(1e6);
/** An idle bucket renews its origin, and origins are rounded to the clock's resolution. */
const GRAIN_US = 2 ** -10;

/** The exact number of tokens that flow in during a span. */
function inflow(rate: number, us: number): Rational {
  return Rational.of(rate).times(Rational.of(us)).over(MILLION);
}

interface Draw {
  readonly rate: number;
  readonly burst: number;
  readonly elapsedUs: number;
}

function draw(random: Random): Draw {
  const rate = random.logarithmic(1e-6, 4e9);
  // A bucket takes at most 4.4 years to fill, and a whole number of tokens is admitted.
  const burst = Math.max(1, Math.floor(random.logarithmic(1, Math.min(rate * 1e8, 1e15))));
  return { rate, burst, elapsedUs: Math.round(random.logarithmic(1, EIGHT_YEARS_US)) };
}

describe.each(['wasm', 'atomics'] as const)('with the kernel %s', (kernel) => {
  test.each([2 ** 51 + 0.5, 2 ** 52, 2 ** 53, 1e17])(
    'a full bucket of %d tokens has no more left than that',
    (burst) => {
      const bucket = TokenBucket.create({ rate: 4e9, burst, clock: ManualClock.create(), kernel });
      const { limit, remaining } = bucket.decide(0);
      expect([limit, remaining % 1]).toEqual([burst, 0]);
      expect(remaining).toBeLessThanOrEqual(limit);
      expect(remaining).toBeGreaterThan(limit * (1 - 1e-15));
    },
  );

  test(`${CASES} random buckets hold exactly what flowed in, up to 8 years on (ZEROTIME_SEED=${SEED})`, () => {
    const random = new Random(SEED);
    let partly = 0;
    for (let i = 0; i < CASES; i++) {
      const { rate, burst, elapsedUs } = draw(random);
      const n = 1 + random.below(Math.min(burst, 2 ** 32));
      const clock = ManualClock.create();
      const bucket = TokenBucket.create({ rate, burst, initial: 0, clock, kernel });
      // In two steps with an admission between, whose remainder must not be rounded.
      const firstUs = Math.floor((elapsedUs * random.below(1000)) / 1000);
      clock.set(firstUs / 1000);
      const grain = inflow(rate, GRAIN_US);
      const early = inflow(rate, firstUs).min(Rational.of(burst));
      const takesEarly = bucket.tryConsume(n);
      const what = `case ${i}: rate ${rate}, burst ${burst}, n ${n}, ${firstUs} and ${elapsedUs} us`;
      const margin = early.minus(Rational.of(n));
      if (margin.abs().compare(grain) > 0) {
        expect(takesEarly, what).toBe(margin.compare(Rational.ZERO) > 0);
      }
      const left = takesEarly ? margin : early;
      clock.set(elapsedUs / 1000);
      const held = left.plus(inflow(rate, elapsedUs - firstUs)).min(Rational.of(burst));
      const taken = bucket.consumeOrDrain(burst);
      expect(taken, what).toBeGreaterThanOrEqual(held.minus(grain).floor().toNumber());
      expect(taken, what).toBeLessThanOrEqual(held.plus(grain).floor().toNumber());
      if (taken > 0 && taken < burst) partly++;
    }
    expect(partly, 'buckets that were neither empty nor full').toBeGreaterThan(CASES / 20);
  });

  test('1e9 tokens, in steps large and small, do not drift by one', () => {
    const rate = 3e6;
    const burst = 3e6;
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate, burst, initial: 0, clock, kernel });
    let admitted = 0;
    for (let second = 1; admitted < 999e6; second++) {
      clock.set(second * 1000);
      while (bucket.tryConsume(99_999)) admitted += 99_999;
      admitted += bucket.consumeOrDrain(burst);
      expect(admitted).toBe(second * rate);
    }
    const startMs = clock.nowMs;
    const before = admitted;
    for (let ms = 1; ms <= 400; ms++) {
      clock.set(startMs + ms);
      while (bucket.tryConsume()) admitted++;
      expect(admitted - before).toBe(ms * 3000);
    }
    expect(admitted).toBeGreaterThan(1e9);
  });
});

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
