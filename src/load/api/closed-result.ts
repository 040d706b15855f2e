import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import type { ClosedOptions, ClosedResult } from '../closed/run-closed.ts';
import { nanoseconds } from '../closed/samples.ts';
import { addErrors, type ErrorCount } from '../error-counts.ts';
import { checkGates, type Gate, gatesInForce } from '../gates.ts';
import { dataBytesOf } from '../task/data-bytes.ts';
import { closedFigures } from './closed-figures.ts';
import type { CallCounts, DriveResult, DriveTerms } from './drive-result.ts';
import { timesOf } from './times.ts';
import { verdictOf } from './verdict.ts';

/** Converts the result of a closed loop to plain data. */
export function closedResult(
  result: ClosedResult,
  options: ClosedOptions,
  gates: readonly Gate[],
): DriveResult {
  const histogram = nanoseconds();
  const errors = new Map<string, ErrorCount>();
  for (const { record } of result.threads) {
    if (record === undefined) continue;
    histogram.add(decodeFromCompressedBase64(record.histogram));
    for (const error of record.errors) addErrors(errors, error);
  }
  const perThread = result.threads.map((_, at) => countsOf(result, at));
  const calls = perThread.reduce(sumOf, NO_CALLS);
  const elapsedMs = result.rounds.reduce((sum, round) => sum + lengthMs(round), 0);
  const gated = {
    tally: { counters: calls, histograms: { latency: histogram } },
    perMs: 1e6,
    sent: calls.sent,
    elapsedMs,
    wantedRate: 0,
  };
  const empty = timesOf(nanoseconds(), 'ns');
  const figures = {
    loop: 'closed',
    url: options.task.url,
    node: process.version,
    options: termsOf(options),
    startedAt: result.startedAt.toISOString(),
    interrupted: result.interrupted,
    elapsedMs,
    warmUp: result.warmUp,
    admitted: calls.sent,
    calls,
    achievedRatePerSecond: elapsedMs === 0 ? 0 : calls.sent / (elapsedMs / 1_000),
    wantedRatePerSecond: null,
    arrivals: null,
    guarantee: null,
    gates: checkGates(gated, gatesInForce(gates, true)).map(({ actual = null, ...gate }) => ({
      ...gate,
      actual,
    })),
    fitness: null,
    statusCodes: {},
    errors: [...errors.values()],
    blocked: null,
    times: { latency: empty, clientLag: empty, queued: empty, response: timesOf(histogram, 'ns') },
    threads: result.threads.map(({ crash = null }, at) => {
      const own = perThread[at] ?? NO_CALLS;
      return {
        admitted: own.sent,
        share: calls.sent === 0 ? 0 : own.sent / calls.sent,
        calls: own,
        crash,
      };
    }),
    admittedPer100Ms: [],
    closed: closedFigures(result),
  } as const;
  return { ...figures, verdict: verdictOf(figures) };
}

function termsOf({ task, threads, rounds, ...lengths }: ClosedOptions): DriveTerms {
  const { durationMs, timeoutMs, warmupMs } = lengths;
  return {
    ratePerSecond: 'max',
    ramp: null,
    burst: null,
    threads,
    concurrency: task.concurrency,
    dataBytes: dataBytesOf(task.data),
    request: null,
    rounds,
    durationMs,
    timeoutMs,
    warmupMs,
  };
}

const NO_CALLS: CallCounts = { sent: 0, succeeded: 0, failed: 0 };

function sumOf(a: CallCounts, b: CallCounts): CallCounts {
  return {
    sent: a.sent + b.sent,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
  };
}

function countsOf({ rounds }: ClosedResult, thread: number): CallCounts {
  return rounds.map((round) => round[thread]?.counters ?? NO_CALLS).reduce(sumOf, NO_CALLS);
}

/** The duration of the slowest thread. */
function lengthMs(round: ClosedResult['rounds'][number]): number {
  return Math.max(0, ...round.map((thread) => thread?.elapsedUs ?? 0)) / 1_000;
}
