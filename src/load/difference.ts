import { type Interval, meanOf, studentDeviations, varianceOf } from './interval.ts';

/** A value of one run, and the range in which the true one lies; undefined if nothing is known. */
export interface Estimate {
  readonly value: number;
  readonly interval: Interval | undefined;
}

/** How far one side is from the other. */
export interface Difference {
  readonly value: number;
  /** Undefined if the runs are too short, or too few, to say. */
  readonly interval: Interval | undefined;
}

/**
 * The difference of two sides. With several runs on a side it comes from the spread between those,
 * which includes all that differs from run to run; otherwise from the intervals of the two runs.
 *
 * @param resolution how coarse the values are, by which the interval is wider on each side
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

/** From the intervals of both: MOVER, by Zou and Donner, which keeps them lopsided. */
function ofTwo(a: Estimate, b: Estimate): Difference {
  const value = b.value - a.value;
  if (a.interval === undefined || b.interval === undefined) return { value, interval: undefined };
  const below = Math.hypot(b.value - b.interval.low, a.interval.high - a.value);
  const above = Math.hypot(b.interval.high - b.value, a.value - a.interval.low);
  return { value, interval: { low: value - below, high: value + above } };
}

/** By Welch. A side of one run is taken to vary as much as the other. */
function ofMeans(a: readonly number[], b: readonly number[]): Difference {
  const value = meanOf(b) - meanOf(a);
  const ofA = varianceOf(a.length > 1 ? a : b) / a.length;
  const ofB = varianceOf(b.length > 1 ? b : a) / b.length;
  const error = ofA + ofB;
  const degrees =
    a.length === 1 || b.length === 1
      ? Math.max(a.length, b.length) - 1
      : error ** 2 / (ofA ** 2 / (a.length - 1) + ofB ** 2 / (b.length - 1));
  // Without any spread the quotient is not a number.
  const spread = studentDeviations(error === 0 ? 1 : degrees) * Math.sqrt(error);
  return { value, interval: { low: value - spread, high: value + spread } };
}
