// The charts of distributions: by percentile, as bars, and over time.

import { type Histogram, JsHistogram } from 'hdr-histogram-js';
import { type LatencySlot, LEAST_FOR } from '../../load/measure/latency-timeline.ts';
import { formatLatency } from '../format.ts';
import { type Chart, COLOURS, type Colour, type Series } from './page.ts';

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
): Chart {
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
    title,
    over: 'percentile',
    x,
    series,
    unit,
    logarithmic: isPositive && hasValues,
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

/** Bars end at 1, 2 and 5 times each power of ten, in microseconds. */
function barEnds(maxUs: number): number[] {
  const ends: number[] = [];
  for (let power = 1; ends.length === 0 || (ends.at(-1) ?? 0) < maxUs; power *= 10) {
    ends.push(power, 2 * power, 5 * power);
  }
  return ends.slice(0, ends.findIndex((end) => end >= maxUs) + 1);
}

/** A histogram of microseconds as bars, each about twice as wide as the previous one. */
export function latencyBars(title: string, histogram: Histogram, unit: string): Chart {
  if (!(histogram instanceof JsHistogram))
    throw new TypeError('histogram must come from hdr-histogram-js');
  const ends = barEnds(histogram.maxValue);
  const values = ends.map(() => 0);
  const { recordedValuesIterator: recorded, maxValue } = histogram;
  recorded.reset();
  while (recorded.hasNext()) {
    const { valueIteratedTo, countAddedInThisIterationStep: count } = recorded.next();
    // The iterator returns the upper end of a histogram bucket, which can exceed the largest value.
    const bar = ends.findIndex((end) => Math.min(valueIteratedTo, maxValue) <= end);
    values[bar] = (values[bar] ?? 0) + count;
  }
  // Keep one of the empty bars at the low end.
  const first = Math.max(0, values.findIndex((count) => count > 0) - 1);
  const labels = ends.slice(first).map(formatLatency);
  return barChart(title, ['up to', labels], [unit, values.slice(first)]);
}

/** Bars with a label each. The heads are for the legend. */
export function barChart(
  title: string,
  [head, labels]: readonly [string, readonly string[]],
  [label, values]: readonly [string, readonly number[]],
): Chart {
  const series: Series[] = [{ label, colour: 'blue', values, look: 'bars' }];
  return { title, over: 'labels', head, labels, x: labels.map((_, at) => at), series, unit: '' };
}

const LINES = {
  p50Ms: { label: 'p50', colour: 'blue', look: 'line' },
  p90Ms: { label: 'p90', colour: 'sky', look: 'line' },
  p99Ms: { label: 'p99', colour: 'orange', look: 'line' },
  maxMs: { label: 'max', colour: 'purple', look: 'dashes' },
} as const;
type Line = keyof typeof LINES;

/**
 * Percentiles over time, on a logarithmic axis unless a value is 0. Those that a slot has too few
 * values for are left out.
 *
 * @param endS the end of the time axis, in seconds
 */
export function latencyLines(title: string, slots: readonly LatencySlot[], endS: number): Chart {
  const known = (Object.keys(LINES) as Line[]).filter((line) =>
    slots.every((slot) => slot[line] !== null),
  );
  const least = known.includes('p99Ms') ? LEAST_FOR.p99 : LEAST_FOR.p90;
  const isJoined = slots.length > 0 && known.includes('p90Ms');
  const lines = known.map((line): PointLine => {
    const points = slots.map((slot) => [middleOf(slot), slot[line] ?? 0] as const);
    return { ...LINES[line], points };
  });
  return latencyPoints(title + (isJoined ? `, at least ${least} for each point` : ''), lines, endS);
}

/**
 * Rates over time in steps.
 *
 * @param ends where each step ends, in seconds; the first one starts at 0
 * @param rates with one value per step
 * @param level a rate to compare them with
 */
export function rateSteps(
  title: string,
  ends: readonly number[],
  rates: readonly Omit<Series, 'look'>[],
  level?: readonly [label: string, rate: number] | false,
): Chart {
  const x = [0, ...ends];
  // The last value holds until the end of its step.
  const series = rates.map(({ values, ...one }): Series => {
    return { ...one, values: [...values, values.at(-1) ?? 0], look: 'area' };
  });
  if (level) {
    const [label, rate] = level;
    series.push({ label, colour: 'red', values: x.map(() => rate), look: 'dashes' });
  }
  return { title, over: 'time', x, series, unit: '/s', steps: true };
}

/** The middle of a slot, in seconds. */
export function middleOf({
  startsAfterMs,
  endsAfterMs,
}: Pick<LatencySlot, 'startsAfterMs' | 'endsAfterMs'>): number {
  return (startsAfterMs + endsAfterMs) / 2_000;
}

/** A line with its own x values. */
export interface PointLine extends Omit<Series, 'values'> {
  /** Pairs of x and y, by ascending x. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/**
 * Puts lines with different x values into one chart over time, with gaps where a line has no point.
 * The axis is logarithmic unless a value is 0.
 */
export function latencyPoints(title: string, lines: readonly PointLine[], end: number): Chart {
  const all = lines.flatMap(({ points }) => points);
  const x = [...new Set(all.map(([at]) => at))].sort((a, b) => a - b);
  const series = lines.map(({ points, ...line }) => {
    const values = new Map(points);
    return { ...line, values: x.map((at) => values.get(at) ?? null) };
  });
  const logarithmic = all.length > 0 && all.every(([, ms]) => ms > 0);
  return { title, over: 'time', x, end, series, unit: ' ms', logarithmic };
}

/** Sides take the colours of the palette in turn; once all are used, lines are dashed. */
export function sideLook(at: number): Pick<Series, 'look'> & { colour: (typeof COLOURS)[number] } {
  const look = at < COLOURS.length ? 'line' : 'dashes';
  return { colour: COLOURS[at % COLOURS.length] ?? 'blue', look };
}
