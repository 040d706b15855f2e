import { UNSENT } from '../measure/errors.ts';
import { thisClient } from '../measure/machine.ts';
import { type CallCounts, everySpan, type Tally } from '../measure/tally.ts';
import { PER_MS, timesOf } from '../measure/times.ts';
import { safeHeaders } from '../plan/headers.ts';
import type { LoadOptions } from '../plan/options.ts';
import { safeData } from '../plan/redact.ts';
import { dataBytesOf } from '../task/task-module.ts';
import type {
  ArrivalsResult,
  DesignEffects,
  DriveResult,
  DriveTerms,
  RequestTerms,
} from './drive-result.ts';
import { checkGates, gatesInForce, gateText } from './gates.ts';
import { designEffect } from './interval.ts';

/** What a run has measured, by the names of its result. */
type Measured = Pick<DriveResult, 'url' | 'interrupted' | 'warmUp' | 'elapsedMs' | 'admitted'> & {
  /** Those of a run at a rate, or of one as fast as possible. */
  readonly [Name in OfLoop]?: DriveResult[Name];
};
type OfLoop =
  | 'wantedRatePerSecond'
  | 'wantedRangePerSecond'
  | 'admittedPer100Ms'
  | 'guarantee'
  | 'fitness'
  | 'closed';

/** All that a result is made of. */
export interface RunRecord extends Measured {
  readonly options: LoadOptions;
  readonly startedAt: Date;
  /** The outcomes of all threads. */
  readonly tally: Tally;
  readonly threads: readonly {
    readonly admitted: number;
    readonly counters: CallCounts;
    readonly crash: string | undefined;
  }[];
}

/** The result of a run as plain data. None of its text has secrets, or controls of a terminal. */
export function resultOf({ options, tally, closed = null, ...run }: RunRecord): DriveResult {
  const { elapsedMs, admitted, wantedRatePerSecond = null } = run;
  const { counters: calls, unit } = tally;
  const { latency, response } = tally.histograms;
  const gated = {
    calls,
    latency: closed === null ? latency : response,
    perMs: PER_MS[unit],
    elapsedMs,
    wantedRatePerSecond,
  };
  const hasNoRate = closed !== null || options.fleet !== undefined;
  const figures = safeData({
    loop: closed === null ? 'open' : 'closed',
    url: run.url,
    embeddedServer: options.url === undefined && options.task === undefined,
    processes: options.processes ?? 1,
    ...thisClient(),
    options: termsOf(options),
    startedAt: run.startedAt.toISOString(),
    interrupted: run.interrupted,
    elapsedMs,
    warmUp: run.warmUp,
    admitted,
    calls,
    achievedRatePerSecond: elapsedMs === 0 ? 0 : calls.sent / (elapsedMs / 1_000),
    wantedRatePerSecond,
    wantedRangePerSecond: run.wantedRangePerSecond ?? null,
    arrivals: closed === null ? arrivalsOf(options) : null,
    guarantee: run.guarantee ?? null,
    gates: checkGates(gated, gatesInForce(options.gates, hasNoRate)),
    fitness: run.fitness ?? null,
    statusCodes: Object.fromEntries(tally.statusCodes),
    errors: [...tally.errors.values()],
    blocked:
      closed === null
        ? { calls: tally.blocked.calls, longestMs: tally.blocked.longestUs / 1_000 }
        : null,
    times: everySpan((span) => timesOf(tally.histograms[span], unit)),
    threads: run.threads.map(({ admitted: own, counters, crash = null }) => ({
      admitted: own,
      share: admitted === 0 ? 0 : own / admitted,
      calls: counters,
      crash,
    })),
    admittedPer100Ms: run.admittedPer100Ms ?? [],
    latencyByTime: tally.latencyByTime.slots(),
    latencyDesignEffects: closed === null ? designEffectsOf(tally) : null,
    failuresByTime: [...tally.failuresByTime].map(([kind, { slotUs, counts }]) => ({
      kind,
      slotMs: slotUs / 1_000,
      counts,
    })),
    closed,
  } as const);
  const reasons = reasonsOf(figures);
  return { ...figures, verdict: { ok: reasons.length === 0, reasons } };
}

function designEffectsOf({ histograms, latencyByTime }: Tally): DesignEffects {
  const at = (percentile: number) =>
    designEffect(latencyByTime.above(histograms.latency.getValueAtPercentile(percentile)));
  return { p50: at(50), p90: at(90), p99: at(99), 'p99.9': at(99.9) };
}

function termsOf(options: LoadOptions): DriveTerms {
  const { rate, ramp = null, burst, threads, task, rounds = null } = options;
  const { durationMs, timeoutMs, warmupMs } = options;
  const isMax = rate === Number.POSITIVE_INFINITY;
  return {
    ratePerSecond: isMax ? 'max' : rate,
    ramp,
    burst: isMax ? null : burst,
    threads,
    concurrency: task?.concurrency ?? null,
    dataBytes: task ? dataBytesOf(task.data) : null,
    request: task ? null : requestOf(options),
    rounds: isMax ? rounds : null,
    durationMs,
    timeoutMs,
    warmupMs,
  };
}

function requestOf({ method, headers, body, transport, connections }: LoadOptions): RequestTerms {
  return {
    method,
    headers: safeHeaders(headers),
    bodyBytes: body?.byteLength ?? 0,
    http2: transport?.http2 === true,
    unixSocket: transport?.socketPath ?? null,
    connections,
  };
}

function arrivalsOf({ arrivals }: LoadOptions): ArrivalsResult {
  if (arrivals === undefined) return { kind: 'even' };
  if (arrivals.kind === 'poisson') return arrivals;
  const { kind, name, instantsUs } = arrivals;
  return { kind, count: instantsUs.length, ...(name !== undefined && { name }) };
}

/**
 * One sentence per problem, by the rules of the command's exit code.
 *
 * @param firstThread the number of the first thread
 */
export function reasonsOf(result: Omit<DriveResult, 'verdict'>, firstThread = 0): string[] {
  const { guarantee, calls, threads, errors, gates } = result;
  const reasons: string[] = [];
  if (guarantee?.held === false) reasons.push('more calls came due than the guarantee allows');
  if (calls.succeeded === 0) {
    // Those that were never sent had to wait for those that failed.
    const sent = errors.filter(({ kind }) => kind !== UNSENT);
    const [most = errors[0]] = sent.toSorted((a, b) => b.count - a.count);
    const why = most === undefined ? '' : `: ${most.kind}${most.example && `: ${most.example}`}`;
    reasons.push(`no call succeeded${why}`);
  }
  for (const [at, { crash }] of threads.entries()) {
    if (crash !== null) reasons.push(`thread ${firstThread + at}: ${crash}`);
  }
  for (const gate of gates) if (!gate.passed) reasons.push(gateText(gate));
  return reasons;
}
