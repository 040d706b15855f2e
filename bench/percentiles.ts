import { build, type Histogram } from 'hdr-histogram-js';

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
