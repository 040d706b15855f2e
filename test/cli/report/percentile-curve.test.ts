import { Int32Histogram } from 'hdr-histogram-js';
import { expect, it } from 'vitest';
import { latencyPoints, percentileCurve } from '../../../src/cli/report/distributions.ts';

/** A histogram of 1 to `count` milliseconds. */
function histogramOf(count: number): Int32Histogram {
  const histogram = new Int32Histogram(1, 3.6e9, 3);
  for (let ms = 1; ms <= count; ms += 1) histogram.recordValue(ms * 1_000);
  return histogram;
}

it('a curve has the value at each percentile, up to the maximum', () => {
  const { x, series, over, logarithmic } = percentileCurve('title', [
    { label: 'many', colour: 'blue', histogram: histogramOf(1_000) },
    { label: 'few', colour: 'orange', histogram: histogramOf(20), look: 'dashes' },
  ]);
  expect([over, logarithmic]).toEqual(['percentile', true]);
  const at = (odds: number) => x.findIndex((one) => Math.abs(one / odds - 1) < 1e-9);
  const [many, few] = series.map(({ values }) => values);
  for (const [odds, ms] of [
    [10, 900],
    [100, 990],
    [1_000, 1_000],
  ] as const) {
    expect(Math.abs((many?.[at(odds)] ?? 0) - ms)).toBeLessThanOrEqual(ms / 1_000);
  }
  expect(at(1_000)).toBe(x.length - 1);
  // 20 values say nothing of the 99th percentile: their line ends with the maximum.
  expect(few?.[at(10)]).toBeCloseTo(18, 0);
  expect(few?.filter((ms) => ms !== null).at(-1)).toBe(20);
  expect(few?.[at(100)]).toBeNull();
  expect(series[1]?.look).toBe('dashes');
});

it('a curve of nothing, of one value and of zeros is drawn', () => {
  const none = { label: 'none', colour: 'blue', histogram: histogramOf(0) } as const;
  expect(percentileCurve('title', [none])).toMatchObject({ x: [1], logarithmic: false });
  expect(percentileCurve('title', [none]).series[0]?.values).toEqual([null]);
  const one = percentileCurve('title', [{ ...none, histogram: histogramOf(1) }]);
  expect(one.series[0]?.values).toEqual([1]);
  const zeros = histogramOf(10);
  zeros.recordValueWithCount(0, 10);
  expect(percentileCurve('title', [{ ...none, histogram: zeros }]).logarithmic).toBe(false);
});

it('lines with points of their own share an axis, with gaps', () => {
  const line = { colour: 'blue', look: 'line' } as const;
  const { x, series } = latencyPoints(
    'title',
    [
      {
        ...line,
        label: 'a',
        points: [
          [1, 10],
          [3, 30],
        ],
      },
      {
        ...line,
        label: 'b',
        points: [
          [2, 20],
          [3, 33],
        ],
      },
    ],
    3,
  );
  expect(x).toEqual([1, 2, 3]);
  expect(series.map(({ label, values }) => [label, values])).toEqual([
    ['a', [10, null, 30]],
    ['b', [null, 20, 33]],
  ]);
});
