import { describe, expect, it } from 'vitest';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import { RateMeter } from '../../src/load/measure/admissions.ts';
import { RateCourse } from '../../src/load/plan/rate-course.ts';

/** 1,000/s for one second, 2,000/s for another, then 500/s. */
function course(): RateCourse {
  const rates = new RateCourse(1e6, 1000);
  rates.change(2000, 2e6, 2e6);
  rates.change(500, 3e6, 3e6);
  return rates;
}

describe('RateCourse', () => {
  it('counts each rate for its time', () => {
    const rates = course();
    expect(rates.tokens(1e6, 2e6)).toBe(1000);
    expect(rates.tokens(1.5e6, 2.5e6)).toBe(1500);
    expect(rates.tokens(0, 4e6)).toBe(1000 + 1000 + 2000 + 500);
    expect([rates.rate, rates.range, rates.blur]).toEqual([500, [500, 2000], 0]);
  });

  it('follows a ramp, and the rate before and after it', () => {
    const rates = new RateCourse(1e6, 3000, { from: 1000, to: 3000, overMs: 2000 });
    expect(rates.tokens(1e6, 3e6)).toBe(4000);
    expect(rates.tokens(0, 4e6)).toBe(1000 + 4000 + 3000);
    expect(rates.tokens(1.5e6, 2.5e6)).toBe(2000);
    expect([0, 1e6, 2e6, 3e6, 4e6].map((us) => rates.rateAt(us))).toEqual([
      1000, 1000, 2000, 3000, 3000,
    ]);
    expect([rates.isSteady, rates.range]).toEqual([false, [1000, 3000]]);
  });

  it('counts the higher rate during a change, and reports the uncertainty', () => {
    const rates = new RateCourse(0, 1000);
    rates.change(3000, 1000, 1500);
    rates.change(1000, 3000, 3100);
    expect(rates.tokens(1000, 1500)).toBeCloseTo(1.5, 9);
    expect(rates.tokens(3000, 3100)).toBeCloseTo(0.3, 9);
    expect(rates.blur).toBeCloseTo(1, 9);
  });

  it('answers in any order, and allows a tick of the higher rate for each change', () => {
    const rates = course();
    expect(rates.tokens(3.5e6, 4e6)).toBe(250);
    expect(rates.tokens(0.5e6, 1.5e6)).toBe(1000);
    expect(rates.tokens(2e6, 2.5e6)).toBe(1000);
    const tick = 1 / 4096 / 1e6;
    const extra = (from: number, to: number) => rates.mostTokens(from, to) - rates.tokens(from, to);
    expect(extra(1.5e6, 3.5e6)).toBeCloseTo(4000 * tick, 12);
    expect(extra(2e6, 2.5e6)).toBe(0);
    expect(extra(1.5e6, 2e6)).toBeCloseTo(2000 * tick, 12);
  });

  it.each([
    ['what flowed', [1999, 2000, 2000.5, 2001], true],
    ['one request too many after the rate went up', [1999, 2000, 2000.5, 2000.9], false],
    ['the higher rate after its time', [2999.5, 3000, 3000.5], false],
    ['the lower rate after a change', [2999.5, 3000, 3002, 3004], true],
  ])('%s is checked against the guarantee: held %s', (_, instantsMs, held) => {
    const instants = Float64Array.from(instantsMs, (ms) => ms * 1000);
    expect(checkGuarantee(instants, course(), 1).held).toBe(held);
  });
});

const SECOND = 1e6;
const START = 5 * SECOND;

describe('RateMeter', () => {
  it('averages the last fully reported second', () => {
    const meter = new RateMeter(START);
    expect(meter.rateAt(START - SECOND)).toBeUndefined();
    expect(meter.rateAt(START + SECOND / 4)).toBeUndefined();
    // 100/s for two seconds, then 300/s; in two pieces, out of order.
    meter.add(
      Float64Array.from({ length: 900 }, (_, i) => START + 2 * SECOND + (i * SECOND) / 300),
    );
    meter.add(Float64Array.from({ length: 200 }, (_, i) => START + (i * SECOND) / 100));
    expect(meter.admitted).toBe(1_100);
    expect(meter.rateAt(START + 0.8 * SECOND)).toBeCloseTo(100, 5);
    expect(meter.rateAt(START + 2.5 * SECOND)).toBeCloseTo(100, 5);
    expect(meter.rateAt(START + 3 * SECOND)).toBeCloseTo(200, 5);
    expect(meter.rateAt(START + 3.5 * SECOND)).toBeCloseTo(300, 5);
  });

  it.each([
    [[], 300, [0, 0, 0]],
    [[0, 99, 100, 290], 300, [2, 1, 1]],
    [[0, 290], 250, [1, 0, 1]],
    [[], 0, []],
    [[], -1, []],
  ])('counts %j ms until %d ms per 100 ms: %j', (instantsMs, endMs, counts) => {
    const meter = new RateMeter(START);
    meter.add(Float64Array.from(instantsMs, (ms) => START + ms * 1_000));
    expect(meter.countsUntil(START + endMs * 1_000)).toEqual(counts);
  });
});
