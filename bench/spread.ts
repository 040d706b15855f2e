import { build, type Histogram } from 'hdr-histogram-js';

/** The median of several rounds. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const at = (place: number) => sorted[Math.floor(place)] ?? Number.NaN;
  return (at(middle) + at(middle + 0.5)) / 2;
}

/** Compares round by round, so that changes of the machine's speed affect both sides alike. */
export function ratios(values: readonly number[], others: readonly number[]): number[] {
  return values.map((value, round) => value / (others[round] ?? Number.NaN));
}

const THREE_DIGITS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** The median of several rounds with their range. */
export function shownSpread(values: readonly number[]): string {
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)].map(
    (value) => THREE_DIGITS.format(value),
  );
  return `${middle} (${least}..${most})`;
}

/** The population standard deviation. */
export function standardDeviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / values.length);
}

/** Durations above one minute mean that the measurement went wrong. */
const HIGHEST_NS = 60e9;

/** A histogram of durations in nanoseconds, with three significant digits. */
export function durations(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_NS,
    numberOfSignificantValueDigits: 3,
  });
}

/** p50, p99, max and the number of samples, with durations divided by `unitNs`. */
export function shownPercentiles(histogram: Histogram, unitNs: number, digits: number): string[] {
  const { p50, p99, max, totalCount } = histogram.summary;
  return [...[p50, p99, max].map((ns) => (ns / unitNs).toFixed(digits)), String(totalCount)];
}
