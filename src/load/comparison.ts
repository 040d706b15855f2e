import type { Histogram } from 'hdr-histogram-js';
import { type Difference, differenceOf, type Estimate } from './difference.ts';
import {
  meanOf,
  percentileInterval,
  shareInterval,
  studentDeviations,
  varianceOf,
} from './interval.ts';

/** The figures of a run that are compared. */
export interface RunFigures {
  readonly sent: number;
  readonly elapsedMs: number;
  readonly admittedPer100Ms: readonly number[];
  readonly succeeded: number;
  readonly failed: number;
  /** In microseconds. */
  readonly latency: Histogram;
}

/** What one line compares, and how it is measured. */
type ComparedFigure =
  | { readonly kind: 'latency'; readonly percentile: number }
  | { readonly kind: 'rate' }
  | { readonly kind: 'errors' };

/** One figure of two sides. */
export interface ComparisonLine {
  readonly figure: ComparedFigure;
  /** Milliseconds, requests per second, or a share from 0 to 1; means where a side has several runs. */
  readonly baseline: number;
  readonly other: number;
  /** By how much the other is higher: 0.1 is 10 %, or 10 percentage points of errors. */
  readonly difference: Difference;
}

/** Percentile 100 is the longest latency. */
const COMPARED: readonly ComparedFigure[] = [
  ...[50, 90, 99, 99.9, 100].map((percentile) => ({ kind: 'latency', percentile }) as const),
  { kind: 'rate' },
  { kind: 'errors' },
];

const US_PER_MS = 1_000;
/** Histograms keep three digits, of whole microseconds. */
const HISTOGRAM_PRECISION = 1 / 1024;
const HISTOGRAM_UNIT_US = 1;
/** Stands for a latency of 0, which has no logarithm. */
const LEAST_MS = HISTOGRAM_UNIT_US / 2 / 1_000;
/** The spread of the rate within a run comes from this many parts of it. */
const PARTS = 20;
const LEAST_PARTS = 10;

/** Compares the runs of one side with those of the other, figure by figure. */
export function compareRuns(
  baseline: readonly RunFigures[],
  other: readonly RunFigures[],
): ComparisonLine[] {
  return COMPARED.map((figure) => {
    if (figure.kind === 'errors') return errorLine(figure, baseline, other);
    const estimates = (runs: readonly RunFigures[]) =>
      runs.map((run) =>
        figure.kind === 'rate' ? rateEstimate(run) : latencyEstimate(run, figure.percentile),
      );
    const resolution = resolutionOf(figure, baseline);
    const line = ratioLine(figure, estimates(baseline), estimates(other), resolution);
    if (figure.kind === 'rate' || [...baseline, ...other].every(hasLatency)) return line;
    return { ...line, difference: { ...line.difference, interval: undefined } };
  });
}

/** A run without a latency, whose requests all failed, is no fast one. */
function hasLatency({ latency }: RunFigures): boolean {
  return latency.totalCount > 0;
}

/** How coarse a figure is, as a share of it. */
function resolutionOf(figure: ComparedFigure, runs: readonly RunFigures[]): number {
  const shares = runs.map(({ latency, sent }) => {
    // One request more or less is a matter of when the run began.
    if (figure.kind !== 'latency') return 1 / Math.max(1, sent);
    const us = Math.max(1, latency.getValueAtPercentile(figure.percentile));
    return Math.max(HISTOGRAM_PRECISION, HISTOGRAM_UNIT_US / us);
  });
  return Math.max(...shares);
}

/** Latencies and rates differ by a factor: their logarithms are compared. */
function ratioLine(
  figure: ComparedFigure,
  baseline: readonly Estimate[],
  other: readonly Estimate[],
  resolution: number,
): ComparisonLine {
  const { value, interval } = differenceOf(
    baseline.map(logarithm),
    other.map(logarithm),
    Math.log1p(resolution),
  );
  // The logarithm and back would leave a trace on a single value.
  const mean = (side: readonly Estimate[]) =>
    side.length === 1
      ? (side[0]?.value ?? 0)
      : Math.exp(meanOf(side.map((one) => logarithm(one).value)));
  return {
    figure,
    baseline: mean(baseline),
    other: mean(other),
    difference: {
      value: Math.expm1(value),
      interval: interval && { low: Math.expm1(interval.low), high: Math.expm1(interval.high) },
    },
  };
}

function logarithm({ value, interval }: Estimate): Estimate {
  const log = (n: number) => Math.log(Math.max(n, LEAST_MS));
  return {
    value: log(value),
    interval: interval && { low: log(interval.low), high: log(interval.high) },
  };
}

/** In milliseconds. A maximum has no upper bound, so it never has an interval. */
function latencyEstimate({ latency }: RunFigures, percentile: number): Estimate {
  const value = latency.getValueAtPercentile(percentile) / US_PER_MS;
  const interval = percentileInterval(latency, percentile);
  return {
    value,
    interval: interval && { low: interval.low / US_PER_MS, high: interval.high / US_PER_MS },
  };
}

/** Per second, with the spread between parts of the run. */
function rateEstimate({ sent, elapsedMs, admittedPer100Ms }: RunFigures): Estimate {
  const seconds = elapsedMs / 1_000;
  const value = seconds === 0 ? 0 : sent / seconds;
  const size = Math.max(1, Math.floor(admittedPer100Ms.length / PARTS));
  const parts = Array.from({ length: Math.floor(admittedPer100Ms.length / size) }, (_, at) =>
    meanOf(admittedPer100Ms.slice(at * size, (at + 1) * size)),
  );
  if (parts.length < LEAST_PARTS || seconds === 0) return { value, interval: undefined };
  const error = Math.sqrt(varianceOf(parts) / parts.length) / meanOf(parts);
  const spread = value * studentDeviations(parts.length - 1) * error;
  return { value, interval: { low: value - spread, high: value + spread } };
}

/** Shares that may be 0 have no ratio: their difference is compared. */
function errorLine(
  figure: ComparedFigure,
  baseline: readonly RunFigures[],
  other: readonly RunFigures[],
): ComparisonLine {
  const estimates = (runs: readonly RunFigures[]) =>
    runs.map(({ succeeded, failed }): Estimate => {
      const all = succeeded + failed;
      return { value: all === 0 ? 0 : failed / all, interval: shareInterval(failed, all) };
    });
  const [a, b] = [estimates(baseline), estimates(other)];
  const mean = (side: readonly Estimate[]) => meanOf(side.map(({ value }) => value));
  return { figure, baseline: mean(a), other: mean(b), difference: differenceOf(a, b, 0) };
}
