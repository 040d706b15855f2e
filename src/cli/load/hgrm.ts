import type { Histogram } from 'hdr-histogram-js';

/** Points per halving of the distance to 100 %, as in wrk2. */
const TICKS = 5;
const US_PER_MS = 1_000;

/**
 * The distribution in HdrHistogram's percentile format, in milliseconds. Its plotter expects the
 * footer of the C and Java implementations.
 *
 * @param perMs units of the histogram per millisecond
 */
export function hgrmText(histogram: Histogram, perMs = US_PER_MS): string {
  return histogram.outputPercentileDistribution(TICKS, perMs);
}
