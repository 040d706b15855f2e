import type { SlotPercentiles } from '../../load/latency-timeline.ts';
import type { LineChart, Series } from './page.ts';

const LINES = [
  ['p50', 'blue'],
  ['p90', 'green'],
  ['p99', 'orange'],
  ['max', 'red'],
] as const;

/** Percentiles by time in milliseconds; on a logarithmic axis unless a value is 0. */
export function latencyLines(title: string, slots: readonly SlotPercentiles[]): LineChart {
  const series = LINES.map(
    ([name, colour]): Series => ({
      label: name,
      colour,
      values: slots.map((slot) => slot[name] / 1_000),
      look: 'line',
    }),
  );
  return {
    kind: 'lines',
    title,
    x: slots.map(({ atUs }) => atUs / 1e6),
    series,
    unit: ' ms',
    logarithmic: slots.length > 0 && slots.every(({ p50 }) => p50 > 0),
    steps: false,
  };
}
