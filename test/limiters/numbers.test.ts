import { describe, expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
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
