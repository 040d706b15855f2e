import type { Histogram } from 'hdr-histogram-js';

/** Points in each half of the distance that is left to 100 %, as wrk2 writes them. */
const TICKS = 5;
const US_PER_MS = 1_000;

/**
 * The distribution in the format of HdrHistogram, in milliseconds, which its plotter reads. That
 * expects the footer as C and Java write it.
 */
export function hgrmText(histogram: Histogram): string {
  return histogram.outputPercentileDistribution(TICKS, US_PER_MS);
}
