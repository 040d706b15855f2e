import { type Interval, meanOf, studentDeviations, varianceOf } from './interval.ts';

/** A value measured in one run and its confidence interval; undefined if unknown. */
export interface Estimate {
  readonly value: number;
  readonly interval: Interval | undefined;
}

/** The difference between two sides. */
export interface Difference {
  readonly value: number;
  /** Undefined if the runs are too few or too short. */
  readonly interval: Interval | undefined;
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
): Difference {
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
function ofTwo(a: Estimate, b: Estimate): Difference {
  const value = b.value - a.value;
  if (a.interval === undefined || b.interval === undefined) return { value, interval: undefined };
  const below = Math.hypot(b.value - b.interval.low, a.interval.high - a.value);
  const above = Math.hypot(b.interval.high - b.value, a.value - a.interval.low);
  return { value, interval: { low: value - below, high: value + above } };
}

/** By Welch's t. A side with one run is assumed to vary as much as the other. */
function ofMeans(a: readonly number[], b: readonly number[]): Difference {
  const value = meanOf(b) - meanOf(a);
  const ofA = varianceOf(a.length > 1 ? a : b) / a.length;
  const ofB = varianceOf(b.length > 1 ? b : a) / b.length;
  const error = ofA + ofB;
  const degrees =
    a.length === 1 || b.length === 1
      ? Math.max(a.length, b.length) - 1
      : error ** 2 / (ofA ** 2 / (a.length - 1) + ofB ** 2 / (b.length - 1));
  // Without any spread, the degrees of freedom are NaN.
  const spread = studentDeviations(error === 0 ? 1 : degrees) * Math.sqrt(error);
  return { value, interval: { low: value - spread, high: value + spread } };
}
