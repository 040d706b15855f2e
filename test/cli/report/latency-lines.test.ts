import { Int32Histogram } from 'hdr-histogram-js';
import { expect, it } from 'vitest';
import {
  latencyBars,
  latencyLines,
  latencyPoints,
  percentileCurve,
} from '../../../src/cli/report/distributions.ts';
import { LatencyTimeline } from '../../../src/load/measure/latency-timeline.ts';

/** Latencies of 1 to `count` milliseconds in each of these seconds. */
function timelineOf(seconds: number, count: number): LatencyTimeline {
  const timeline = new LatencyTimeline();
  for (let second = 0; second < seconds; second += 1) {
    for (let ms = 1; ms <= count; ms += 1) timeline.record(second * 1e6, ms * 1_000);
  }
  return timeline;
}

// docs/load.md: "Each point of the latency over time covers at least 110 requests"
it('percentiles are lines in milliseconds over seconds', () => {
  const chart = latencyLines('title', timelineOf(5, 400).slots(), 7);
  expect([chart.title, chart.over, chart.end]).toEqual([
    'title, at least 110 for each point',
    'time',
    7,
  ]);
  expect(chart.x).toHaveLength(5);
  const [first] = chart.x;
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(1);
  const values = chart.series.map((line) => [line.label, Math.round(line.values[0] ?? 0)]);
  // Two digits are kept.
  expect(values.map(([label]) => label)).toEqual(['p50', 'p90', 'p99', 'max']);
  for (const [at, ms] of [200, 360, 396, 400].entries()) {
    expect(Math.abs((values[at]?.[1] as number) - ms)).toBeLessThan(ms / 50);
  }
});

it.each([
  [5, 400, ['p50', 'p90', 'p99', 'max']],
  [500, 2, ['p50', 'p90', 'p99', 'max']],
  [5, 40, ['p50', 'p90', 'max']],
  [5, 3, ['p50', 'max']],
])(
  '%d seconds of %d latencies have the lines %j, and none is the maximum',
  (seconds, count, lines) => {
    const timeline = timelineOf(seconds, count);
    const { x, series } = latencyLines('title', timeline.slots(), seconds);
    expect(series.map(({ label }) => label)).toEqual(lines);
    expect(x.length).toBeGreaterThanOrEqual(4);
    if (lines.length === 2) return;
    const [last, max] = series.slice(-2).map(({ values }) => values);
    if (count <= 20) return;
    for (const [at, ms] of (last ?? []).entries()) expect(ms).toBeLessThan(max?.[at] ?? 0);
  },
);

it('the axis is logarithmic unless a value is 0', () => {
  expect(latencyLines('title', timelineOf(5, 400).slots(), 5).logarithmic).toBe(true);
  const timeline = timelineOf(5, 400);
  for (let count = 0; count < 1_000; count += 1) timeline.record(1e6, 0);
  expect(latencyLines('title', timeline.slots(), 5).logarithmic).toBe(false);
  expect(latencyLines('title', new LatencyTimeline().slots(), 5)).toMatchObject({
    logarithmic: false,
    title: 'title',
    x: [],
  });
});

it('bars end at 1, 2 and 5 times a power of ten, and hold every value', () => {
  const histogram = new Int32Histogram(1, 3.6e9, 3);
  for (const us of [900, 1_000, 1_001, 2_000, 4_000, 4_900, 30_000]) histogram.recordValue(us);
  expect(latencyBars('title', histogram, 'requests')).toMatchObject({
    labels: ['0.50 ms', '1.00 ms', '2.00 ms', '5.00 ms', '10.0 ms', '20.0 ms', '50.0 ms'],
    x: [0, 1, 2, 3, 4, 5, 6],
    series: [{ label: 'requests', values: [0, 2, 2, 2, 0, 0, 1] }],
  });
});

it('an empty histogram has one empty bar', () => {
  const bars = latencyBars('title', new Int32Histogram(1, 3.6e9, 3), 'requests');
  expect(bars.series[0]?.values).toEqual([0]);
});

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
