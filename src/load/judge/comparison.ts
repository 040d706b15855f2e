import type { Histogram } from 'hdr-histogram-js';
import { sumsOf } from '../measure/timeline.ts';
import type { DriveResult } from './drive-result.ts';
import {
  differenceOf,
  type Estimate,
  meanOf,
  percentileInterval,
  scaled,
  shareInterval,
  spreadOfMean,
  within,
} from './interval.ts';

/**
 * The parts of a result to compare; an older version may lack the optional ones. Of a run as fast as
 * possible, only rounds and errors compare.
 */
export interface RunFigures
  extends Pick<DriveResult, 'calls' | 'elapsedMs' | 'admittedPer100Ms'>,
    Partial<Pick<DriveResult, 'latencyDesignEffects' | 'closed'>> {
  /** In microseconds. */
  readonly latency: Histogram;
}

/** The figure that a line compares. */
type ComparedFigure =
  | { readonly kind: 'latency'; readonly percentile: number }
  | { readonly kind: 'rate' }
  | { readonly kind: 'errors' };

/** One figure, for both sides. */
export interface ComparisonLine {
  readonly figure: ComparedFigure;
  /**
   * Milliseconds, requests per second, or a share from 0 to 1. The mean if a side has several runs.
   */
  readonly baseline: number;
  readonly other: number;
  /** How much higher the other side is: 0.1 is 10 %, or 10 percentage points of errors. */
  readonly difference: Estimate;
}

/** Percentile 100 is the maximum latency. */
const COMPARED: readonly ComparedFigure[] = [
  ...[50, 90, 99, 99.9, 100].map((percentile) => ({ kind: 'latency', percentile }) as const),
  { kind: 'rate' },
  { kind: 'errors' },
];

const US_PER_MS = 1_000;
/** Histograms keep three significant digits of whole microseconds. */
const HISTOGRAM_PRECISION = 1 / 1024;
const HISTOGRAM_UNIT_US = 1;
/** Replaces a latency of 0, which has no logarithm. */
const LEAST_MS = HISTOGRAM_UNIT_US / 2 / 1_000;
/** A run is divided into this many parts to estimate the spread of its rate. */
const PARTS = 20;
const LEAST_PARTS = 10;

/** Compares the runs of two sides, figure by figure. */
export function compareRuns(
  baseline: readonly RunFigures[],
  other: readonly RunFigures[],
): ComparisonLine[] {
  const isClosed = [...baseline, ...other].some(({ closed }) => closed != null);
  const compared = isClosed ? COMPARED.filter(({ kind }) => kind !== 'latency') : COMPARED;
  return compared.map((figure) => {
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

/** False for a run whose requests all failed: it must not look fast. */
function hasLatency({ latency, calls }: RunFigures): boolean {
  return latency.totalCount > 0 && calls.succeeded > 0;
}

/** The resolution of a figure, relative to its value. */
function resolutionOf(figure: ComparedFigure, runs: readonly RunFigures[]): number {
  const shares = runs.map(({ latency, calls }) => {
    // The start of the run decides whether it has one request more or less.
    if (figure.kind !== 'latency') return 1 / Math.max(1, calls.sent);
    const us = Math.max(1, latency.getValueAtPercentile(figure.percentile));
    return Math.max(HISTOGRAM_PRECISION, HISTOGRAM_UNIT_US / us);
  });
  return Math.max(...shares);
}

/** Latencies and rates differ by a factor, so their logarithms are compared. */
function ratioLine(
  figure: ComparedFigure,
  baseline: readonly Estimate[],
  other: readonly Estimate[],
  resolution: number,
): ComparisonLine {
  const difference = differenceOf(
    baseline.map(logarithm),
    other.map(logarithm),
    Math.log1p(resolution),
  );
  // Taking a single value to its logarithm and back would add a rounding error.
  const mean = (side: readonly Estimate[]) =>
    side.length === 1
      ? (side[0]?.value ?? 0)
      : Math.exp(meanOf(side.map((one) => logarithm(one).value)));
  return {
    figure,
    baseline: mean(baseline),
    other: mean(other),
    difference: scaled(difference, Math.expm1),
  };
}

function logarithm(estimate: Estimate): Estimate {
  return scaled(estimate, (n) => Math.log(Math.max(n, LEAST_MS)));
}

/**
 * In milliseconds. A single run's maximum has no upper bound, so it gets no interval. Nor has a
 * percentile that only a few stalls decide.
 */
function latencyEstimate(run: RunFigures, percentile: number): Estimate {
  const { latency, latencyDesignEffects } = run;
  const value = latency.getValueAtPercentile(percentile);
  const effects: Readonly<Record<string, number>> = { ...latencyDesignEffects };
  const interval = percentileInterval(latency, percentile, effects[`p${percentile}`]);
  return scaled({ value, interval }, (us) => us / US_PER_MS);
}

/** Per second. The interval comes from the spread between parts of the run. */
function rateEstimate({ calls, elapsedMs, admittedPer100Ms, closed }: RunFigures): Estimate {
  if (closed != null) return roundEstimate(closed.rounds.map((round) => round.callsPerSecond));
  const seconds = elapsedMs / 1_000;
  const value = seconds === 0 ? 0 : calls.sent / seconds;
  const size = Math.max(1, Math.floor(admittedPer100Ms.length / PARTS));
  const parts = sumsOf(admittedPer100Ms, size);
  if (parts.length < LEAST_PARTS || seconds === 0) return { value, interval: undefined };
  return within(value, (value * spreadOfMean(parts)) / meanOf(parts));
}

/** The mean of the rounds. The interval comes from the spread between them. */
function roundEstimate(rounds: readonly number[]): Estimate {
  const value = rounds.length === 0 ? 0 : meanOf(rounds);
  if (rounds.length < 2) return { value, interval: undefined };
  return within(value, spreadOfMean(rounds));
}

/** A share may be 0, so the difference is compared instead of the ratio. */
function errorLine(
  figure: ComparedFigure,
  baseline: readonly RunFigures[],
  other: readonly RunFigures[],
): ComparisonLine {
  const estimates = (runs: readonly RunFigures[]) =>
    runs.map(({ calls: { succeeded, failed } }): Estimate => {
      const all = succeeded + failed;
      return { value: all === 0 ? 0 : failed / all, interval: shareInterval(failed, all) };
    });
  const [a, b] = [estimates(baseline), estimates(other)];
  const mean = (side: readonly Estimate[]) => meanOf(side.map(({ value }) => value));
  return { figure, baseline: mean(a), other: mean(b), difference: differenceOf(a, b, 0) };
}
