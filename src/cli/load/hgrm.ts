import type { Histogram } from 'hdr-histogram-js';

/** Points per halving of the distance to 100 %, as in wrk2. */
const TICKS = 5;
const US_PER_MS = 1_000;

/**
 * The distribution in HdrHistogram's percentile format, in milliseconds. Its plotter expects the
 * footer of the C and Java implementations.
 */
export function hgrmText(histogram: Histogram): string {
  return histogram.outputPercentileDistribution(TICKS, US_PER_MS);
}
