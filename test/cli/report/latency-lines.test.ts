import { expect, it } from 'vitest';
import { latencyLines } from '../../../src/cli/report/latency-lines.ts';

const slot = (atUs: number, us: number) => ({
  atUs,
  p50: us,
  p90: 2 * us,
  p99: 3 * us,
  max: 4 * us,
});

it('percentiles are lines in milliseconds over seconds, logarithmic where none is 0', () => {
  const chart = latencyLines('title', [slot(0, 1_000), slot(2e6, 500)]);
  expect(chart.x).toEqual([0, 2]);
  expect(chart.series.map(({ label, values }) => [label, values])).toEqual([
    ['p50', [1, 0.5]],
    ['p90', [2, 1]],
    ['p99', [3, 1.5]],
    ['max', [4, 2]],
  ]);
  expect(chart.logarithmic).toBe(true);
  expect(latencyLines('title', [slot(0, 1_000), slot(2e6, 0)]).logarithmic).toBe(false);
  expect(latencyLines('title', []).logarithmic).toBe(false);
});
