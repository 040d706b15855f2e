import { writeFileSync } from 'node:fs';
import { encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';
import type { LoadResult } from '../../load/result.ts';
import { SPANS } from '../../load/tally.ts';
import { safeHeaders } from '../safe-text.ts';
import { exitCode } from './exit-code.ts';
import { nounOf } from './noun.ts';
import { limitText } from './verdict.ts';

const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99] as const;

/** Writes the full result of a run. */
export function writeJsonReport(path: string, result: LoadResult, version: string): void {
  writeFileSync(path, `${JSON.stringify(jsonReport(result, version), undefined, 2)}\n`);
}

/** The result as plain data; the name of each number includes its unit. */
function jsonReport(result: LoadResult, version: string): object {
  const { options, tally, guarantee, threads, admitted } = result;
  const { tightest } = guarantee;
  const noun = nounOf(options);
  return {
    zerotime: version,
    node: process.version,
    startedAt: result.startedAt.toISOString(),
    exitCode: exitCode(result),
    interrupted: result.interrupted,
    target:
      options.task === undefined
        ? {
            url: result.url,
            embeddedServer: options.url === undefined,
            method: options.method,
            headers: safeHeaders(options.headers),
            bodyBytes: options.body?.byteLength ?? 0,
          }
        : { task: options.task.url, concurrency: options.task.concurrency },
    options: {
      ratePerSecond: options.rate,
      burst: options.burst,
      threads: options.threads,
      processes: options.processes ?? 1,
      connections: options.connections,
      durationMs: options.durationMs,
      timeoutMs: options.timeoutMs,
      warmupMs: options.warmupMs,
    },
    elapsedMs: result.elapsedMs,
    warmUp: result.warmUp,
    admitted,
    sent: result.sent,
    achievedRatePerSecond: result.achievedRate,
    wantedRatePerSecond: result.wantedRate,
    guarantee: {
      held: guarantee.held,
      intervals: guarantee.intervals,
      toleranceInTokens: guarantee.tolerance,
      tightest: tightest && {
        startsAfterMs: tightest.startsAfterUs / 1_000,
        lengthMs: tightest.lengthUs / 1_000,
        admitted: tightest.admitted,
        allowed: tightest.allowed,
      },
    },
    gates: result.gates.map(({ gate, passed, actual }) => ({
      ...gate,
      passed,
      actual: actual ?? null,
    })),
    fitness: {
      ...result.fitness,
      limits: result.fitness.limits.map((limit) => ({ ...limit, text: limitText(limit, noun) })),
      p99Ms: result.fitness.p99Ms ?? null,
    },
    [noun]: tally.counters,
    statusCodes: Object.fromEntries(tally.statusCodes),
    errors: [...tally.errors.values()],
    blocked: { calls: tally.blocked.calls, longestMs: tally.blocked.longestUs / 1_000 },
    times: Object.fromEntries(SPANS.map((span) => [span, times(tally.histograms[span])])),
    threads: threads.map(({ admitted: count, counters, crash }) => ({
      admitted: count,
      share: admitted === 0 ? 0 : count / admitted,
      [noun]: counters,
      crash: crash ?? null,
    })),
    admittedPer100Ms: result.admittedPer100Ms,
  };
}

function times(histogram: Histogram): object {
  const { totalCount } = histogram;
  const at = PERCENTILES.map((percentile) => [
    `p${percentile}`,
    histogram.getValueAtPercentile(percentile) / 1_000,
  ]);
  return {
    count: totalCount,
    // An empty histogram has neither mean nor maximum.
    ms:
      totalCount === 0
        ? null
        : {
            mean: histogram.mean / 1_000,
            ...Object.fromEntries(at),
            max: histogram.maxValue / 1_000,
          },
    /** In microseconds; readable by any HdrHistogram. */
    hdrHistogram: encodeIntoCompressedBase64(histogram),
  };
}
