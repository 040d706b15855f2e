import { type Histogram, JsHistogram } from 'hdr-histogram-js';
import { formatLatency } from '../format.ts';
import type { BarChart } from './page.ts';

/** Bars end at 1, 2 and 5 times each power of ten, in microseconds. */
function barEnds(maxUs: number): number[] {
  const ends: number[] = [];
  for (let power = 1; ends.length === 0 || (ends.at(-1) ?? 0) < maxUs; power *= 10) {
    ends.push(power, 2 * power, 5 * power);
  }
  return ends.slice(0, ends.findIndex((end) => end >= maxUs) + 1);
}

/** A histogram of microseconds as bars, each about twice as wide as the previous one. */
export function latencyBars(title: string, histogram: Histogram, unit: string): BarChart {
  if (!(histogram instanceof JsHistogram))
    throw new TypeError('histogram must come from hdr-histogram-js');
  const ends = barEnds(histogram.maxValue);
  const values = ends.map(() => 0);
  const { recordedValuesIterator: recorded } = histogram;
  recorded.reset();
  while (recorded.hasNext()) {
    const { valueIteratedTo, countAddedInThisIterationStep } = recorded.next();
    const found = ends.findIndex((end) => valueIteratedTo <= end);
    const bar = found === -1 ? ends.length - 1 : found;
    values[bar] = (values[bar] ?? 0) + countAddedInThisIterationStep;
  }
  // Keep one of the empty bars at the low end.
  const first = Math.max(0, values.findIndex((count) => count > 0) - 1);
  return {
    kind: 'bars',
    title,
    labels: ends.slice(first).map(formatLatency),
    values: values.slice(first),
    unit,
  };
}
