import { Int32Histogram } from 'hdr-histogram-js';
import { describe, expect, it } from 'vitest';
import { compareRuns, type RunFigures } from '../../src/load/judge/comparison.ts';
import {
  designEffect,
  differenceOf,
  type Estimate,
  percentileInterval,
  shareInterval,
  studentDeviations,
} from '../../src/load/judge/interval.ts';
import { Random, SEED } from '../support/random.ts';

function histogramOf(us: readonly number[]): Int32Histogram {
  const histogram = new Int32Histogram(1, 3.6e9, 3);
  for (const each of us) histogram.recordValue(each);
  return histogram;
}

const alone = (value: number): Estimate => ({ value, interval: undefined });

describe('intervals', () => {
  it('of a percentile end at its order statistics', () => {
    const histogram = histogramOf(Array.from({ length: 1_000 }, (_, at) => at + 1));
    // Ranks 500 and 990 with 1.96 standard deviations of a binomial on each side, rounded up:
    // 469.01 and 530.99, 983.83 and 996.17.
    const middle = percentileInterval(histogram, 50);
    expect([middle?.low, middle?.high]).toEqual([470, 531]);
    const high = percentileInterval(histogram, 99);
    expect([high?.low, high?.high]).toEqual([984, 997]);
  });

  it('of a percentile need enough values on both sides', () => {
    const histogram = histogramOf(Array.from({ length: 380 }, (_, at) => at + 1));
    expect(percentileInterval(histogram, 99)).toBeUndefined();
    expect(percentileInterval(histogram, 1)).toBeUndefined();
    expect(percentileInterval(histogram, 90)).toBeDefined();
    expect(percentileInterval(histogramOf([]), 50)).toBeUndefined();
  });

  it('of a percentile are wider by the square root of the design effect', () => {
    const histogram = histogramOf(Array.from({ length: 1_000 }, (_, at) => at + 1));
    const { low, high } = percentileInterval(histogram, 50, 4) ?? {};
    expect([low, high]).toEqual([439, 562]);
    expect(percentileInterval(histogram, 99, 3)).toBeUndefined();
  });

  it('of values that do not depend on each other have a design effect of 1', () => {
    const even = Array.from({ length: 40 }, () => ({ count: 10, above: 1 }));
    expect(designEffect(even)).toBe(1);
    for (const above of [0, 10]) expect(designEffect([{ count: 10, above }])).toBe(1);
    expect(designEffect([])).toBe(1);
    expect(designEffect(even.slice(0, 9).map((part, at) => ({ ...part, above: at })))).toBe(1);
  });

  it('of values that are long together have a larger one', () => {
    const stalled = Array.from({ length: 40 }, (_, at) => ({ count: 25, above: at < 4 ? 25 : 0 }));
    // One of ten batches has all 100 that are above the bound; each would have 10, with variance 9.
    const variance = (90 ** 2 + 9 * 10 ** 2) / 9;
    expect(designEffect(stalled)).toBeCloseTo((2.262 / 1.96) ** 2 * (variance / 9), 6);
  });

  // By hand, from Wilson's formula with 1.96.
  it.each([
    [0, 100, 0, 0.037],
    [1, 100, 0.0018, 0.0545],
    [50, 100, 0.4038, 0.5962],
    [100, 100, 0.963, 1],
  ])('of a share of %d in %d are from %d to %d', (failed, all, low, high) => {
    const interval = shareInterval(failed, all);
    expect(interval?.low).toBeCloseTo(low, 4);
    expect(interval?.high).toBeCloseTo(high, 4);
  });

  it('of a share of nothing are unknown', () => {
    expect(shareInterval(0, 0)).toBeUndefined();
  });

  it.each([
    [1, 12.706],
    [2.9, 4.303],
    [30, 2.042],
    [60, 2.0],
    [1e9, 1.96],
    [0.5, 12.706],
  ])('with %d degrees of freedom take %d standard errors', (degrees, errors) => {
    expect(studentDeviations(degrees)).toBeCloseTo(errors, 2);
  });
});

describe('a difference', () => {
  it('of two runs comes from both intervals, each on its side', () => {
    const a = { value: 10, interval: { low: 9, high: 14 } };
    const b = { value: 20, interval: { low: 17, high: 21 } };
    const { value, interval } = differenceOf([a], [b], 0);
    expect(value).toBe(10);
    expect(interval?.low).toBeCloseTo(10 - Math.hypot(3, 4), 12);
    expect(interval?.high).toBeCloseTo(10 + Math.hypot(1, 1), 12);
  });

  it('of two runs is unknown without both intervals', () => {
    const a = { value: 10, interval: { low: 9, high: 14 } };
    expect(differenceOf([a], [alone(20)], 1)).toEqual({ value: 10, interval: undefined });
    expect(differenceOf([alone(20)], [a], 1).interval).toBeUndefined();
  });

  it('of several runs comes from the spread between them', () => {
    // Means 2 and 8, variances 1 and 4: Welch with 2.94 degrees of freedom, rounded down to 2.
    const a = [1, 2, 3].map(alone);
    const b = [6, 8, 10].map(alone);
    const { value, interval } = differenceOf(a, b, 0);
    expect(value).toBe(6);
    const spread = 4.303 * Math.sqrt(1 / 3 + 4 / 3);
    expect(interval?.low).toBeCloseTo(6 - spread, 10);
    expect(interval?.high).toBeCloseTo(6 + spread, 10);
  });

  it('of one run from several takes it to vary as much as they do', () => {
    const several = [1, 2, 3].map(alone);
    const spread = 4.303 * Math.sqrt(1 / 3 + 1);
    for (const [a, b, value] of [
      [several, [alone(7)], 5],
      [[alone(7)], several, -5],
    ] as const) {
      const difference = differenceOf(a, b, 0);
      expect(difference.value).toBe(value);
      expect(difference.interval?.high).toBeCloseTo(value + spread, 10);
    }
  });

  // docs/load.md: "Intervals are never narrower than the three significant"
  it('is no finer than the values', () => {
    const a = [1, 1, 1].map(alone);
    const b = [2, 2, 2].map(alone);
    expect(differenceOf(a, b, 0.25).interval).toEqual({ low: 0.75, high: 1.25 });
    expect(differenceOf(a, b, 0).interval).toEqual({ low: 1, high: 1 });
  });
});

/** A run at an even rate with latencies drawn from an exponential distribution. */
function runOf(random: Random, meanUs: number, count = 2_000, failed = 0): RunFigures {
  const us = Array.from({ length: count }, () => {
    const uniform = (random.bits() + 1) / 2 ** 32;
    return Math.round(100 - meanUs * Math.log(uniform));
  });
  return {
    calls: { sent: count, succeeded: count - failed, failed },
    elapsedMs: 2_000,
    admittedPer100Ms: new Array(20).fill(count / 20),
    latency: histogramOf(us),
  };
}

describe('compared runs', () => {
  it('that are a quarter slower are seen to be, by about that', () => {
    const random = new Random(SEED);
    const lines = compareRuns([runOf(random, 10_000, 20_000)], [runOf(random, 12_500, 20_000)]);
    for (const { figure, difference } of lines) {
      if (figure.kind !== 'latency' || figure.percentile > 99) continue;
      expect(difference.interval?.low, `seed ${SEED}`).toBeGreaterThan(0.1);
      expect(difference.interval?.high, `seed ${SEED}`).toBeLessThan(0.45);
    }
    expect(lines.find(({ figure }) => figure.kind === 'rate')?.difference).toMatchObject({
      value: 0,
    });
  });

  it('give no interval where there is too little to know', () => {
    const random = new Random(1);
    const lines = compareRuns([runOf(random, 1_000, 100)], [runOf(random, 1_000, 100)]);
    const known = lines.filter(({ difference }) => difference.interval !== undefined);
    expect(known.map(({ figure }) => figure)).toEqual([
      { kind: 'latency', percentile: 50 },
      { kind: 'latency', percentile: 90 },
      { kind: 'rate' },
      { kind: 'errors' },
    ]);
    const short = { ...runOf(random, 1_000), admittedPer100Ms: [100, 100] };
    const rate = compareRuns([short], [short]).find(({ figure }) => figure.kind === 'rate');
    expect(rate?.difference.interval).toBeUndefined();
  });

  it('have the maximum compared only between several runs of a side', () => {
    const random = new Random(2);
    const runs = [1, 2, 3].map(() => runOf(random, 1_000));
    const maxima = (a: RunFigures[], b: RunFigures[]) => compareRuns(a, b)[4];
    expect(maxima(runs.slice(1), runs)?.figure).toEqual({ kind: 'latency', percentile: 100 });
    expect(maxima(runs.slice(1), runs)?.difference.interval).toBeDefined();
    expect(maxima(runs.slice(2), runs.slice(1, 2))?.difference.interval).toBeUndefined();
  });

  it('that failed differ by points, and one without a request is drawn', () => {
    const random = new Random(3);
    const errors = compareRuns([runOf(random, 1_000)], [runOf(random, 1_000, 2_000, 200)])[6];
    expect(errors?.difference.value).toBeCloseTo(0.1, 10);
    expect(errors?.difference.interval?.low).toBeGreaterThan(0.08);
    const none = { ...runOf(random, 1_000, 0), elapsedMs: 0, admittedPer100Ms: [] };
    const lines = compareRuns([none], [none]);
    expect(lines.map(({ difference }) => [difference.value, difference.interval])).toEqual(
      lines.map(() => [0, undefined]),
    );
  });

  it('of a rate that varied are seen to differ only beyond that', () => {
    const random = new Random(4);
    const even = runOf(random, 1_000);
    const varying = new Array(20).fill(0).map((_, at) => (at % 2 === 0 ? 50 : 140));
    const lower = { ...even, calls: { ...even.calls, sent: 1_900 } };
    const uneven = { ...lower, admittedPer100Ms: varying };
    const rate = (other: RunFigures) => compareRuns([even], [other])[5]?.difference;
    expect(rate(lower)?.interval?.high).toBeLessThan(0);
    expect(rate(uneven)?.interval?.high).toBeGreaterThan(0);
    expect(rate(uneven)?.value).toBeCloseTo(-0.05, 10);
  });
});
