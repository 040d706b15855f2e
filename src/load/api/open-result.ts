import type { LoadOptions } from '../options.ts';
import type { LoadResult } from '../result.ts';
import { safeHeaders } from '../safe-headers.ts';
import { dataBytesOf } from '../task/data-bytes.ts';
import type {
  ArrivalsResult,
  DriveResult,
  DriveTerms,
  Guarantee,
  RequestTerms,
  ThreadFigures,
} from './drive-result.ts';
import { fitnessResult } from './fitness-result.ts';
import { timesOf } from './times.ts';
import { verdictOf } from './verdict.ts';

/** Converts the result of an open loop to plain data. */
export function openResult(result: LoadResult): DriveResult {
  const { tally, admitted, elapsedMs } = result;
  const { latency, clientLag, queued, response } = tally.histograms;
  const figures = {
    loop: 'open',
    url: result.url,
    node: process.version,
    options: termsOf(result.options),
    startedAt: result.startedAt.toISOString(),
    interrupted: result.interrupted,
    elapsedMs,
    warmUp: result.warmUp,
    admitted,
    calls: tally.counters,
    achievedRatePerSecond: result.achievedRate,
    wantedRatePerSecond: result.wantedRate,
    arrivals: arrivalsOf(result),
    guarantee: guaranteeOf(result),
    gates: result.gates.map(({ gate, passed, actual = null }) => ({ gate, passed, actual })),
    fitness: fitnessResult(result.fitness),
    statusCodes: Object.fromEntries(tally.statusCodes),
    errors: [...tally.errors.values()],
    blocked: { calls: tally.blocked.calls, longestMs: tally.blocked.longestUs / 1_000 },
    times: {
      latency: timesOf(latency, 'us'),
      clientLag: timesOf(clientLag, 'us'),
      queued: timesOf(queued, 'us'),
      response: timesOf(response, 'us'),
    },
    threads: threadsOf(result),
    admittedPer100Ms: result.admittedPer100Ms,
    closed: null,
  } as const;
  return { ...figures, verdict: verdictOf(figures) };
}

function termsOf(options: LoadOptions): DriveTerms {
  const { rate, ramp = null, burst, threads, task } = options;
  const { durationMs, timeoutMs, warmupMs } = options;
  return {
    ratePerSecond: rate,
    ramp,
    burst,
    threads,
    concurrency: task?.concurrency ?? null,
    dataBytes: task ? dataBytesOf(task.data) : null,
    request: task ? null : requestOf(options),
    rounds: null,
    durationMs,
    timeoutMs,
    warmupMs,
  };
}

function requestOf(options: LoadOptions): RequestTerms {
  const { method, headers, body, transport, connections } = options;
  return {
    method,
    headers: safeHeaders(headers),
    bodyBytes: body?.byteLength ?? 0,
    http2: transport?.http2 === true,
    unixSocket: transport?.socketPath ?? null,
    connections,
  };
}

function arrivalsOf({ options: { arrivals } }: LoadResult): ArrivalsResult {
  if (arrivals === undefined) return { kind: 'even' };
  if (arrivals.kind === 'poisson') return { kind: 'poisson', seed: arrivals.seed };
  return { kind: 'listed', count: arrivals.instantsUs.length };
}

function guaranteeOf({ guarantee }: LoadResult): Guarantee {
  const { held, intervals, tolerance, tightest } = guarantee;
  return {
    held,
    intervals,
    toleranceInTokens: tolerance,
    tightest:
      tightest === undefined
        ? null
        : {
            startsAfterMs: tightest.startsAfterUs / 1_000,
            lengthMs: tightest.lengthUs / 1_000,
            admitted: tightest.admitted,
            allowed: tightest.allowed,
          },
  };
}

function threadsOf({ threads, admitted }: LoadResult): ThreadFigures[] {
  return threads.map(({ admitted: own, counters, crash = null }) => ({
    admitted: own,
    share: admitted === 0 ? 0 : own / admitted,
    calls: counters,
    crash,
  }));
}
