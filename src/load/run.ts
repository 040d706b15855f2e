import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { AdmissionWatch } from './admission-watch.ts';
import { planArrivals } from './arrival-plan.ts';
import { beside } from './beside.ts';
import { CpuGauge, type CpuUse, readTimes } from './cpu-gauge.ts';
import { drive, HALF_SLOT_US, type RunHooks, type RunWindow } from './drive.ts';
import type { ServerListening } from './echo-server.ts';
import { fitnessOf } from './fitness.ts';
import { joinFleet, measureAhead } from './fleet.ts';
import { checkGates, gatesInForce } from './gates.ts';
import type { Rehearsal } from './messages.ts';
import { type LoadOptions, threadsOf } from './options.ts';
import { reservationsAhead } from './pacer.ts';
import { ProcessTeam } from './process-team.ts';
import type { LoadResult } from './result.ts';
import { type StartThread, startHere } from './running-thread.ts';
import { type RequestCounts, Tally } from './tally.ts';
import { ThreadHandle } from './thread-handle.ts';

const LOAD_WORKER = beside('load-worker.js');
const ECHO_SERVER = beside('echo-server.js');

/** Time for the threads to attach to the bucket before the first request is due. */
const LEAD_MS = 100;
const LEAD_MS_PER_THREAD = 2;
/** Rehearsed are the requests of this time, up to this number over all threads. */
const REHEARSED_S = 0.75;
const MOST_REHEARSED = 12_000;
/**
 * The connections opened ahead do for answers within this time. A server that serves one connection
 * after another would wait for those that are opened and never used.
 */
const OPEN_AHEAD_S = 0.02;
/**
 * How far ahead each process of a fleet reserves, at its full rate. A process that joins waits for
 * everything that the others have reserved.
 */
const FLEET_AHEAD_MS = 50;
/** Thrown if the run was stopped before its first request. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}

/**
 * Runs the load described by `options`. Failed requests are part of the result; it throws only if
 * no load could be generated at all.
 *
 * @throws InterruptedError if it was stopped before its first request
 */
export async function runLoad(options: LoadOptions, hooks: RunHooks): Promise<LoadResult> {
  const { processes, threads } = options;
  if (processes === undefined) return runWith(options, hooks, undefined);
  const team = await ProcessTeam.start(processes, threads);
  try {
    return await runWith(options, hooks, team);
  } finally {
    await team.close();
  }
}

/** @param team has the threads, if this process has not */
async function runWith(
  options: LoadOptions,
  hooks: RunHooks,
  team: ProcessTeam | undefined,
): Promise<LoadResult> {
  // Before the server starts: its message would be lost while we wait for the fleet.
  const fleet = options.fleet && (await joinFleet(options.fleet));
  const server = new Worker(ECHO_SERVER);
  let threads: ThreadHandle[] = [];
  let watch: AdmissionWatch | undefined;
  try {
    const ownUrl = await embeddedUrl(server);
    // If it crashes later, its requests fail and the result shows that.
    server.on('error', () => undefined);
    const url = options.url ?? ownUrl;
    const code = hooks.loadWorker ?? LOAD_WORKER;
    const spread = { ...options, threads: threadsOf(options) };
    const rehearsal = { url: ownUrl, requests: rehearsalRequests(spread) };
    threads = startThreads(
      spread,
      url,
      rehearsal,
      code,
      (...report) => watch?.add(...report) ?? 0,
      team?.startThread ?? startHere,
    );
    await readiness(threads, hooks.stop);
    if (url !== ownUrl) await server.terminate();

    hooks.onStart?.(url);
    const leadMs = LEAD_MS + LEAD_MS_PER_THREAD * threads.length;
    const plan = planArrivals(
      options.ramp?.from ?? options.rate,
      options.burst,
      leadMs,
      team?.region,
    );
    const { rate } = plan.bucket;
    // A whole number of slots, so that the rest of the schedule begins with one as well.
    const warmUpUs = (Math.ceil((rate * options.warmupMs) / 1_000) * 1e6) / rate;
    const startUs = plan.startUs - HALF_SLOT_US + warmUpUs;
    watch = new AdmissionWatch({ threads: threads.length, startUs, rate, burst: options.burst });
    const startedAt = new Date();
    const aheadUs = fleet && (await measureAhead(fleet));
    const cpu = new CpuGauge(() => readTimes(team?.cpuMs));
    const window = await drive(options, warmUpUs, threads, plan, aheadUs, watch, cpu, hooks);
    const processors = cpu.use;
    return collect({ options, url, startedAt, threads, watch, processors, ...window });
  } finally {
    fleet?.close();
    await Promise.all([server.terminate(), ...threads.map((thread) => thread.giveUp())]);
  }
}

/** Enough to get a thread's code compiled; fewer if many threads share the processor. */
function rehearsalRequests({ rate, threads }: LoadOptions): number {
  const least = Math.max(20, Math.min(300, Math.floor(4_000 / threads)));
  // At a high rate even little more time for each request makes a backlog.
  const most = Math.floor(MOST_REHEARSED / threads);
  return Math.max(least, Math.min(most, Math.ceil((rate * REHEARSED_S) / threads)));
}

async function embeddedUrl(server: Worker): Promise<string> {
  // Rejects on the worker's 'error' event.
  const [{ url }] = (await once(server, 'message')) as [ServerListening];
  return url;
}

function startThreads(
  {
    rate,
    ramp,
    threads,
    connections,
    timeoutMs,
    method,
    headers,
    body,
    latencyByTime,
    fleet,
  }: LoadOptions,
  url: string,
  rehearsal: Rehearsal,
  code: URL,
  onAdmissions: (thread: number, admissions: Float64Array, throughUs: number) => number,
  start: StartThread,
): ThreadHandle[] {
  const outstanding = reservationsAhead(rate, threads, fleet && FLEET_AHEAD_MS);
  const openAhead = Math.ceil(((ramp?.from ?? rate) * OPEN_AHEAD_S) / threads);
  const request = { method, headers, body };
  return Array.from({ length: threads }, (_, index) => {
    const share = Math.floor(((index + 1) * connections) / threads);
    const before = Math.floor((index * connections) / threads);
    const data = {
      url,
      rehearsal,
      connections: share - before,
      openAhead,
      request,
      timeoutMs,
      outstanding,
      latencyByTime,
      fleet,
    };
    return new ThreadHandle(code, data, (...report) => onAdmissions(index, ...report), start);
  });
}

async function readiness(threads: readonly ThreadHandle[], stop: AbortSignal): Promise<void> {
  const ready = Promise.all(threads.map((thread) => thread.ready));
  if (!stop.aborted) await Promise.race([ready, once(stop, 'abort')]);
  if (stop.aborted) throw new InterruptedError('stopped before the first request');
  const crashed = threads.find((thread) => thread.crash !== undefined);
  if (crashed !== undefined) throw new Error(`a load thread cannot start: ${crashed.crash}`);
}

function totalOf(counts: readonly RequestCounts[]): RequestCounts {
  const total = { sent: 0, succeeded: 0, failed: 0 };
  for (const { sent, succeeded, failed } of counts) {
    total.sent += sent;
    total.succeeded += succeeded;
    total.failed += failed;
  }
  return total;
}

interface Collected extends RunWindow {
  readonly options: LoadOptions;
  readonly url: string;
  readonly startedAt: Date;
  readonly threads: readonly ThreadHandle[];
  readonly watch: AdmissionWatch;
  readonly processors: CpuUse;
}

function collect({
  options,
  url,
  startedAt,
  threads,
  startUs,
  endUs: plannedEndUs,
  interrupted,
  watch,
  processors,
}: Collected): LoadResult {
  const tally = new Tally();
  for (const thread of threads) {
    if (thread.tally !== undefined) tally.add(thread.tally);
  }
  const { course } = watch;
  // A thread that received an early stop late ran past it, which extends the run.
  const endUs = Math.max(plannedEndUs, (watch.lastUs ?? startUs) + HALF_SLOT_US);
  const elapsedMs = (endUs - startUs) / 1_000;
  const sent = threads.reduce((sum, { counters }) => sum + counters.sent, 0);
  const wantedRate =
    elapsedMs === 0 ? course.rate : course.tokens(startUs, endUs) / (elapsedMs / 1_000);
  const gates = gatesInForce(options.gates, options.fleet !== undefined);
  return {
    options,
    url,
    startedAt,
    interrupted,
    warmUp: totalOf(threads.map(({ warmUp }) => warmUp)),
    elapsedMs,
    admitted: watch.admitted,
    sent,
    wantedRate,
    rateRange: course.isSteady ? undefined : course.range,
    achievedRate: elapsedMs === 0 ? 0 : sent / (elapsedMs / 1_000),
    admittedPer100Ms: watch.per100Ms(endUs),
    threads: threads.map(({ admitted, counters, crash }) => ({ admitted, counters, crash })),
    tally,
    guarantee: watch.guarantee,
    fitness: fitnessOf({
      tally,
      connections: options.connections,
      loops: threads.map(({ busy }) => busy),
      processors,
    }),
    gates: checkGates({ tally, sent, elapsedMs, wantedRate }, gates),
  };
}
