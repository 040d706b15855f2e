import type { Histogram } from 'hdr-histogram-js';

/** A range that holds the true value with 95 % confidence. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Standard deviations on each side of an interval that holds with 95 % confidence. */
const DEVIATIONS = 1.96;

/** The same for Student's t with 1 to 30 degrees of freedom. */
const STUDENT = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048,
  2.045, 2.042,
];

/** Standard errors on each side of a mean; fractions of a degree of freedom are dropped. */
export function studentDeviations(degrees: number): number {
  const whole = Math.max(1, Math.floor(degrees));
  return STUDENT[whole - 1] ?? DEVIATIONS + 2.5 / whole;
}

/**
 * The range of a percentile in the unit of the histogram, from the ranks of its order statistics: the
 * number of values below the true percentile is binomial, if values are independent. Undefined if
 * the range would end beyond the least or the greatest value.
 */
export function percentileInterval(histogram: Histogram, percentile: number): Interval | undefined {
  const share = percentile / 100;
  const count = histogram.totalCount;
  const spread = DEVIATIONS * Math.sqrt(count * share * (1 - share));
  const rank = count * share;
  if (rank + spread >= count || rank - spread < 0) return undefined;
  const at = (r: number) => histogram.getValueAtPercentile((100 * r) / count);
  return { low: at(rank - spread), high: at(rank + spread) };
}

/** The range of a share from 0 to 1, by Wilson: right also if nothing or everything failed. */
export function shareInterval(part: number, whole: number): Interval | undefined {
  if (whole === 0) return undefined;
  const square = DEVIATIONS ** 2;
  const share = part / whole;
  const middle = (share + square / (2 * whole)) / (1 + square / whole);
  const spread =
    (DEVIATIONS * Math.sqrt((share * (1 - share)) / whole + square / (4 * whole ** 2))) /
    (1 + square / whole);
  return { low: Math.max(0, middle - spread), high: Math.min(1, middle + spread) };
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The variance of the population that these values are a sample of; 0 for a single value. */
export function varianceOf(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const mean = meanOf(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}
