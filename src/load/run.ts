import { AdmissionWatch } from './admission-watch.ts';
import { planArrivals } from './arrival-plan.ts';
import { CpuGauge, type CpuUse, readTimes } from './cpu-gauge.ts';
import { drive, HALF_SLOT_US, type RunHooks, type RunWindow } from './drive.ts';
import { type FitnessOptions, fitnessOf } from './fitness.ts';
import { joinFleet, measureAhead } from './fleet.ts';
import { checkGates, gatesInForce } from './gates.ts';
import { type LoadOptions, threadsOf } from './options.ts';
import { ProcessTeam } from './process-team.ts';
import { untilReady } from './readiness.ts';
import type { LoadResult } from './result.ts';
import { startThreads } from './start-threads.ts';
import { type RequestCounts, Tally } from './tally.ts';
import { openTarget, type Target } from './target.ts';
import type { ThreadHandle } from './thread-handle.ts';
import { TimetableCheck } from './timetable-check.ts';
import { timetableOf } from './timetable-plan.ts';
import { shareTimetable } from './timetable-slots.ts';

export { InterruptedError } from './interrupted-error.ts';

/** Time for the threads to attach to the bucket before the first request is due. */
const LEAD_MS = 100;
const LEAD_MS_PER_THREAD = 2;

/**
 * Runs the load described by `options`. Failed requests are part of the result. Throws only if the
 * load can't start.
 *
 * @throws InterruptedError if stopped before the first request
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

/** @param team the processes that run the threads, unless this one does */
async function runWith(
  options: LoadOptions,
  hooks: RunHooks,
  team: ProcessTeam | undefined,
): Promise<LoadResult> {
  const spread = { ...options, threads: threadsOf(options) };
  const fleet = options.fleet && (await joinFleet(options.fleet));
  let target: Target | undefined;
  let threads: ThreadHandle[] = [];
  let watch: AdmissionWatch | undefined;
  try {
    target = await openTarget(options);
    const { url } = target;
    const onAdmissions = (...report: Parameters<AdmissionWatch['add']>) =>
      watch?.add(...report) ?? 0;
    threads = startThreads(spread, target, onAdmissions, hooks.loadWorker, team?.startThread);
    await untilReady(threads, hooks.stop);
    await target.ready();

    hooks.onStart?.(url);
    const leadMs = LEAD_MS + LEAD_MS_PER_THREAD * threads.length;
    const plan = planArrivals(
      options.ramp?.from ?? options.rate,
      options.burst,
      leadMs,
      team?.region,
    );
    const { rate } = plan.bucket;
    // A whole number of slots, so that the run itself also starts with a slot.
    const warmUpUs = (Math.ceil((rate * options.warmupMs) / 1_000) * 1e6) / rate;
    const startUs = plan.startUs - HALF_SLOT_US + warmUpUs;
    const { arrivals, burst, ramp } = options;
    const timetable =
      arrivals && shareTimetable(timetableOf(arrivals, options, warmUpUs), startUs - warmUpUs);
    watch = new AdmissionWatch({
      threads: threads.length,
      startUs,
      rate,
      burst,
      ...(timetable && { timetable: new TimetableCheck(timetable, startUs), ramp }),
    });
    const startedAt = new Date();
    const aheadUs = fleet && (await measureAhead(fleet));
    const cpu = new CpuGauge(() => readTimes(team?.cpuMs));
    const window = await drive(
      spread,
      warmUpUs,
      threads,
      { ...plan, timetable },
      aheadUs,
      watch,
      cpu,
      hooks,
    );
    const processors = cpu.use;
    return collect({ options, url, startedAt, threads, watch, processors, ...window });
  } finally {
    fleet?.close();
    await Promise.all([target?.close(), ...threads.map((thread) => thread.giveUp())]);
  }
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

/** The most requests or calls in flight: HTTP/2 servers say how many streams a session has. */
function capacityOf(
  { task, threads, connections, transport }: LoadOptions,
  handles: readonly ThreadHandle[],
): Pick<FitnessOptions, 'connections' | 'sessions'> {
  if (task !== undefined) return { connections: task.concurrency * threads };
  if (transport?.http2 !== true) return { connections };
  const streams = handles.reduce((sum, { capacity = 0 }) => sum + capacity, 0);
  return { connections: streams, sessions: connections };
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
    // Of a thread that could not report its results, the counts of its last report are known.
    else tally.addCounts(thread.counters);
  }
  const { course } = watch;
  // A thread that learns late of an early stop runs past it and extends the run.
  const endUs = Math.max(plannedEndUs, (watch.lastUs ?? Number.NEGATIVE_INFINITY) + HALF_SLOT_US);
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
      ...capacityOf(options, threads),
      loops: threads.map(({ busy }) => busy),
      processors,
    }),
    gates: checkGates({ tally, sent, elapsedMs, wantedRate }, gates),
  };
}
