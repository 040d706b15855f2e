import { expect, it } from 'vitest';
import { latencyLines } from '../../../src/cli/report/distributions.ts';
import { LatencyTimeline } from '../../../src/load/measure/latency-timeline.ts';

/** Latencies of 1 to `count` milliseconds in each of these seconds. */
function timelineOf(seconds: number, count: number): LatencyTimeline {
  const timeline = new LatencyTimeline();
  for (let second = 0; second < seconds; second += 1) {
    for (let ms = 1; ms <= count; ms += 1) timeline.record(second * 1e6, ms * 1_000);
  }
  return timeline;
}

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
