import { timesOf } from '../../load/api/times.ts';
import type { TaskOptions } from '../../load/options.ts';
import type { LoadResult } from '../../load/result.ts';
import { safeHeaders } from '../../load/safe-headers.ts';
import { SPANS } from '../../load/tally.ts';
import { dataBytesOf } from '../../load/task/data-bytes.ts';
import type { About } from '../about.ts';
import { safeUrl } from '../command-line.ts';
import { writeOutput } from '../output-files.ts';
import { jsonArrivals } from './arrival-options.ts';
import { exitCode } from './exit-code.ts';
import { nounOf } from './noun.ts';
import { limitText } from './verdict.ts';

/** Minimum requests per point of the latency over time, so that p99 is not the maximum. */
const LEAST_PER_SLOT = 110;

/** Writes the full result of a run to a file or, as `-`, to standard output. */
export function writeJsonReport(path: string, result: LoadResult, about: About): void {
  writeOutput(path, `${JSON.stringify(jsonReport(result, about), undefined, 2)}\n`);
}

/** A module, and how much data it got: the data may hold secrets. */
export function taskTarget({ url, concurrency, data }: TaskOptions): object {
  return { task: url, concurrency, dataBytes: dataBytesOf(data) };
}

/** Converts a result to plain data. Names of numbers include the unit. */
export function jsonReport(result: LoadResult, about: About): object {
  const { options, tally, guarantee, threads, admitted } = result;
  const { tightest } = guarantee;
  const noun = nounOf(options);
  return {
    zerotime: about.version,
    node: about.node,
    commandLine: about.commandLine,
    machine: about.machine,
    startedAt: result.startedAt.toISOString(),
    exitCode: exitCode(result),
    interrupted: result.interrupted,
    target:
      options.task === undefined
        ? {
            url: safeUrl(result.url),
            embeddedServer: options.url === undefined,
            method: options.method,
            headers: safeHeaders(options.headers),
            bodyBytes: options.body?.byteLength ?? 0,
            http2: options.transport?.http2 === true,
            unixSocket: options.transport?.socketPath ?? null,
          }
        : taskTarget(options.task),
    options: {
      ratePerSecond: options.rate,
      ramp: options.ramp ?? null,
      burst: options.burst,
      arrivals: jsonArrivals(options.arrivals),
      threads: options.threads,
      processes: options.processes ?? 1,
      connections: options.task === undefined ? options.connections : null,
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
      ...(guarantee.scheduled && { scheduled: guarantee.scheduled }),
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
    times: Object.fromEntries(SPANS.map((span) => [span, timesOf(tally.histograms[span], 'us')])),
    threads: threads.map(({ admitted: count, counters, crash }) => ({
      admitted: count,
      share: admitted === 0 ? 0 : count / admitted,
      [noun]: counters,
      crash: crash ?? null,
    })),
    admittedPer100Ms: result.admittedPer100Ms,
    latencyByTime: tally.latencyByTime
      .percentiles(LEAST_PER_SLOT)
      .map(({ atUs, untilUs, count, p50, p99, max }) => ({
        startsAfterMs: atUs / 1_000,
        endsAfterMs: untilUs / 1_000,
        count,
        p50Ms: p50 / 1_000,
        p99Ms: p99 / 1_000,
        maxMs: max / 1_000,
      })),
  };
}
