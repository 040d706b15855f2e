import type { Int32Histogram } from 'hdr-histogram-js';
import type { SimulateResult } from '../../simulate/result.ts';
import { writeOutput } from '../output-files.ts';
import { exitCode } from './exit-code.ts';

const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99] as const;

/** Writes the full result, which is identical for the same arguments. */
export function writeJsonReport(path: string, result: SimulateResult, version: string): void {
  writeOutput(path, `${JSON.stringify(jsonReport(result, version), undefined, 2)}\n`);
}

/** Converts a result to plain data. Names of numbers include the unit. */
function jsonReport(result: SimulateResult, version: string): object {
  const { source, arrivals, limiters, count, durationMs, waitMs, server } = result;
  const { file } = source;
  return {
    zerotime: version,
    exitCode: exitCode(result),
    arrivals: {
      source: source.text,
      seed: source.seed ?? null,
      count,
      durationMs,
      file: file && {
        format: file.format,
        startedEpochMs: file.startedUs === undefined ? null : file.startedUs / 1_000,
        linesWithoutTimestamp: file.unreadable,
        linesOutOfOrder: file.late,
      },
    },
    server: server ?? null,
    waitAtMostMs: waitMs,
    slotMs: arrivals.slotUs / 1_000,
    arrivalsPerSlot: arrivals.counts,
    limiters: limiters.map(({ text, outcomes }) => ({
      limiter: text,
      admittedAtOnce: outcomes.admittedAtOnce,
      admittedLater: outcomes.admittedLater,
      refusedAtOnce: outcomes.refusedAtOnce,
      gaveUp: outcomes.gaveUp,
      waitMs: percentiles(outcomes.waits),
      ...(server === undefined
        ? {}
        : { mostInFlight: outcomes.mostInFlight, responseMs: percentiles(outcomes.responses) }),
      bounds: outcomes.bounds.map((bound) => ({
        promise: bound.promise,
        held: bound.held,
        peak: bound.peak,
        allowed: bound.allowed,
        mostPerSlot: bound.most(arrivals.slotUs),
      })),
      admittedPerSlot: outcomes.admissions.counts,
    })),
  };
}

/** Percentiles in milliseconds; null without values. */
function percentiles(histogram: Int32Histogram): object | null {
  if (histogram.totalCount === 0) return null;
  const at = PERCENTILES.map((percentile) => [
    `p${percentile}`,
    histogram.getValueAtPercentile(percentile) / 1_000,
  ]);
  return {
    mean: histogram.mean / 1_000,
    ...Object.fromEntries(at),
    max: histogram.maxValue / 1_000,
  };
}
