import type { Histogram } from 'hdr-histogram-js';
import type { Colour, LineChart, Series } from './page.ts';

/** Points per factor of ten. */
const POINTS = 12;
const US_PER_MS = 1_000;

/** A histogram of microseconds, drawn as a line. */
export interface Distribution {
  readonly label: string;
  readonly colour: Colour;
  readonly histogram: Histogram;
  readonly look?: Series['look'];
}

/** Values by percentile. 90 to 99 % takes as much room as 99 to 99.9 %. */
export function percentileCurve(
  title: string,
  lines: readonly Distribution[],
  unit = ' ms',
): LineChart {
  const most = Math.max(1, ...lines.map(({ histogram }) => histogram.totalCount));
  const x = Array.from(
    { length: Math.ceil(POINTS * Math.log10(most)) + 1 },
    (_, at) => 10 ** (at / POINTS),
  );
  const series = lines.map(({ label, colour, histogram, look = 'line' }) => ({
    label,
    colour,
    values: valuesOf(histogram, x),
    look,
  }));
  const isPositive = series.every(({ values }) => values.every((ms) => ms === null || ms > 0));
  const hasValues = lines.some(({ histogram }) => histogram.totalCount > 0);
  return {
    kind: 'lines',
    title,
    over: 'percentile',
    x,
    series,
    unit,
    logarithmic: isPositive && hasValues,
    steps: false,
  };
}

/** The values at each x. The last one is the maximum. */
function valuesOf(histogram: Histogram, x: readonly number[]): (number | null)[] {
  const { totalCount, maxValue } = histogram;
  return x.map((odds, at) => {
    if (totalCount === 0) return null;
    if (odds <= totalCount && at < x.length - 1) {
      return histogram.getValueAtPercentile(100 - 100 / odds) / US_PER_MS;
    }
    const isEnd = at === 0 || (x[at - 1] ?? 0) <= totalCount;
    return isEnd ? maxValue / US_PER_MS : null;
  });
}
