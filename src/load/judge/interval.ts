import type { Histogram } from 'hdr-histogram-js';

/** A 95 % confidence interval. */
export interface ConfidenceRange {
  /** Lower end. */
  readonly low: number;
  /** Upper end. */
  readonly high: number;
}

/** Standard deviations on each side of a 95 % confidence interval. */
const DEVIATIONS = 1.96;

/** The same for Student's t with 1 to 30 degrees of freedom. */
const STUDENT = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048,
  2.045, 2.042,
];

/** Standard errors on each side of a mean. Degrees of freedom are rounded down. */
export function studentDeviations(degrees: number): number {
  const whole = Math.max(1, Math.floor(degrees));
  return STUDENT[whole - 1] ?? DEVIATIONS + 2.5 / whole;
}

/**
 * The confidence interval of a percentile, in the histogram's unit, from the ranks of its order
 * statistics: for independent values, the number of values below the true percentile is binomial.
 * Undefined if the interval would extend beyond the least or greatest value.
 *
 * @param effect the design effect: the variance of that number, as a multiple of the binomial one
 */
export function percentileInterval(
  histogram: Histogram,
  percentile: number,
  effect = 1,
): ConfidenceRange | undefined {
  const share = percentile / 100;
  const count = histogram.totalCount;
  const spread = DEVIATIONS * Math.sqrt(effect * count * share * (1 - share));
  const rank = count * share;
  if (rank + spread >= count || rank - spread < 0) return undefined;
  const at = (r: number) => histogram.getValueAtPercentile((100 * r) / count);
  return { low: at(rank - spread), high: at(rank + spread) };
}

/** Numbers of batches into which a run is divided to see whether its values depend on each other. */
const BATCHES = [40, 20, 10];

/** A part of a run: how many values it has, and how many of them are above a bound. */
export interface PartAbove {
  readonly count: number;
  readonly above: number;
}

/**
 * The design effect of a share of a run's values: its variance, as a multiple of the binomial one
 * of independent values, at least 1. It comes from the spread between batches of neighbouring
 * parts. The squares of Student's deviations make up for few batches.
 */
export function designEffect(parts: readonly PartAbove[]): number {
  const { count, above } = sumOf(parts);
  const share = above / count;
  if (!(share > 0 && share < 1)) return 1;
  const effects = BATCHES.filter((batches) => batches <= parts.length).map((batches) => {
    const edge = (at: number) => Math.round((at * parts.length) / batches);
    const squares = Array.from({ length: batches }, (_, at) => {
      const batch = sumOf(parts.slice(edge(at), edge(at + 1)));
      return (batch.above - share * batch.count) ** 2;
    });
    const variance = (batches ** 2 * meanOf(squares)) / (batches - 1);
    const factor = studentDeviations(batches - 1) / DEVIATIONS;
    return (factor ** 2 * variance) / (count * share * (1 - share));
  });
  return Math.max(1, ...effects);
}

function sumOf(parts: readonly PartAbove[]): PartAbove {
  const sum = { count: 0, above: 0 };
  for (const { count, above } of parts) {
    sum.count += count;
    sum.above += above;
  }
  return sum;
}

/**
 * The confidence interval of a share from 0 to 1, by Wilson, which also holds for shares of 0 and
 * 1.
 */
export function shareInterval(part: number, whole: number): ConfidenceRange | undefined {
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

/** The sample variance of these values; 0 for a single value. */
function varianceOf(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const mean = meanOf(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}

/** Half the width of the 95 % confidence interval of the mean of independent values. */
export function spreadOfMean(values: readonly number[]): number {
  return studentDeviations(values.length - 1) * Math.sqrt(varianceOf(values) / values.length);
}

/** A value measured in one run, or the difference between two sides. */
export interface Estimate {
  readonly value: number;
  /** Undefined if it is unknown: the runs are too few or too short. */
  readonly interval: ConfidenceRange | undefined;
}

/** An estimate on another scale, on which greater values are greater as well. */
export function scaled({ value, interval }: Estimate, scale: (n: number) => number): Estimate {
  return {
    value: scale(value),
    interval: interval && { low: scale(interval.low), high: scale(interval.high) },
  };
}

/** A value with the same error on both sides. */
export function within(value: number, error: number): Estimate {
  return { value, interval: { low: value - error, high: value + error } };
}

/**
 * The difference between two sides. If a side has several runs, its interval comes from the spread
 * between runs, which covers all run-to-run variation; otherwise from the intervals of the two
 * runs.
 *
 * @param resolution of the values; widens the interval by this much on each side
 */
export function differenceOf(
  baseline: readonly Estimate[],
  other: readonly Estimate[],
  resolution: number,
): Estimate {
  const [first] = baseline;
  const [second] = other;
  const runs = baseline.length + other.length;
  const { value, interval } =
    runs === 2 && first !== undefined && second !== undefined
      ? ofTwo(first, second)
      : ofMeans(valuesOf(baseline), valuesOf(other));
  if (interval === undefined) return { value, interval };
  return { value, interval: { low: interval.low - resolution, high: interval.high + resolution } };
}

function valuesOf(estimates: readonly Estimate[]): number[] {
  return estimates.map(({ value }) => value);
}

/**
 * From the intervals of both: MOVER (Zou and Donner), which keeps asymmetric intervals asymmetric.
 */
function ofTwo(a: Estimate, b: Estimate): Estimate {
  const value = b.value - a.value;
  if (a.interval === undefined || b.interval === undefined) return { value, interval: undefined };
  const below = Math.hypot(b.value - b.interval.low, a.interval.high - a.value);
  const above = Math.hypot(b.interval.high - b.value, a.value - a.interval.low);
  return { value, interval: { low: value - below, high: value + above } };
}

/** By Welch's t. A side with one run is assumed to vary as much as the other. */
function ofMeans(a: readonly number[], b: readonly number[]): Estimate {
  const value = meanOf(b) - meanOf(a);
  const ofA = varianceOf(a.length > 1 ? a : b) / a.length;
  const ofB = varianceOf(b.length > 1 ? b : a) / b.length;
  const error = ofA + ofB;
  const degrees =
    a.length === 1 || b.length === 1
      ? Math.max(a.length, b.length) - 1
      : error ** 2 / (ofA ** 2 / (a.length - 1) + ofB ** 2 / (b.length - 1));
  // Without any spread, the degrees of freedom are NaN.
  return within(value, studentDeviations(error === 0 ? 1 : degrees) * Math.sqrt(error));
}
