import { onAbort } from '../../time/on-abort.ts';
import { runRounds } from '../closed/run-rounds.ts';
import type { DriveResult } from '../judge/drive-result.ts';
import { type FullThreads, fitnessOf } from '../judge/fitness.ts';
import { type RunRecord, resultOf } from '../judge/result-of.ts';
import { AdmissionWatch } from '../measure/admissions.ts';
import { INTERRUPTED } from '../measure/errors.ts';
import { cpuGauge, MOST_BUSY } from '../measure/gauges.ts';
import { LatencyGauge } from '../measure/latency-counts.ts';
import { Tally, totalOf } from '../measure/tally.ts';
import { type ArrivalPlan, HALF_SLOT_US, planArrivals } from '../plan/arrival-plan.ts';
import { joinFleet, measureAhead } from '../plan/fleet.ts';
import { RATES } from '../plan/option-table.ts';
import { type LoadOptions, type RunHooks, threadsOf } from '../plan/options.ts';
import { shareTimetable, TimetableCheck, timetableOf } from '../plan/timetable.ts';
import { openTarget, type Target } from '../send/target.ts';
import { ProcessTeam } from './process-team.ts';
import { connectionsOf, outstandingAt, startThreads } from './start-threads.ts';
import { InterruptedError, type ThreadHandle, untilReady } from './thread-handle.ts';

/** Time for the threads to attach to the bucket before the first request is due. */
const LEAD_MS = 100;
const LEAD_MS_PER_THREAD = 2;

/**
 * Runs the load described by `options`. Failed requests are part of the result. Throws only if the
 * load can't start.
 *
 * @throws InterruptedError if stopped before the first request that counts
 */
export async function runLoad(options: LoadOptions, hooks: RunHooks): Promise<DriveResult> {
  const { processes, threads, rate, task } = options;
  if (rate === Number.POSITIVE_INFINITY && task !== undefined) {
    return runRounds(options, task, hooks);
  }
  if (processes === undefined) return runWith(options, hooks, undefined);
  const team = await ProcessTeam.start(processes, threads, hooks.stop);
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
): Promise<DriveResult> {
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
    // Many round trips, which a slow network must not take from the lead before the start.
    const aheadUs = fleet && (await measureAhead(fleet));

    hooks.onStart?.(url);
    const { arrivals, burst, ramp, warmupMs } = options;
    const leadMs = LEAD_MS + LEAD_MS_PER_THREAD * threads.length;
    const plan = planArrivals(ramp?.from ?? options.rate, burst, leadMs, team?.region);
    const { rate } = plan.bucket;
    // A whole number of slots, so that the run itself also starts with a slot.
    const warmUpUs = (Math.ceil((rate * warmupMs) / 1_000) * 1e6) / rate;
    const startUs = plan.startUs - HALF_SLOT_US + warmUpUs;
    const fixed = timetableOf(options, warmUpUs);
    // Even slots are where the bucket would have them.
    const originUs = arrivals === undefined ? plan.startUs : startUs - warmUpUs;
    const timetable = fixed && shareTimetable(fixed, originUs);
    watch = new AdmissionWatch({
      threads: threads.length,
      startUs,
      rate,
      burst,
      ramp,
      timetable: arrivals && timetable && new TimetableCheck(timetable, startUs),
    });
    const startedAt = new Date(Date.now() + (startUs - plan.bucket.clock.now()) / 1_000);
    const cpu = cpuGauge(() => team?.cpuMs ?? 0);
    const slots = { ...plan, timetable };
    const run = { options: spread, threads, plan: slots, startUs, aheadUs, watch, cpu };
    const end = await conduct(run, hooks);
    const record = collect(run, end, hooks.stop);
    if (hooks.stop.aborted && record.elapsedMs === 0) {
      throw new InterruptedError(warmupMs > 0 ? 'stopped during the warm-up' : undefined);
    }
    return resultOf({ ...record, options, url, startedAt });
  } finally {
    fleet?.close();
    await Promise.all([target?.close(), ...threads.map((thread) => thread.giveUp())]);
  }
}

/** HTTP/2 servers say how many streams a session has, so each thread knows its own maximum. */
function fullThreads(options: LoadOptions, handles: readonly ThreadHandle[]): FullThreads {
  const full = [...handles.entries()].filter(([, { last }]) => last?.wasFull);
  const connections = full.reduce((sum, [, { last }]) => sum + (last?.capacity ?? 0), 0);
  const sessions = full.reduce((sum, [at]) => sum + connectionsOf(options, at), 0);
  const isHttp2 = options.task === undefined && options.transport?.http2 === true;
  return { threads: full.length, connections, ...(isHttp2 && { sessions }) };
}

/** What a run has measured. */
function collect(
  { options, threads, startUs, watch, cpu }: ReadyRun,
  end: RunEnd,
  stop: AbortSignal,
): Omit<RunRecord, 'options' | 'url' | 'startedAt'> {
  const processors = cpu.use;
  const tally = new Tally();
  for (const thread of threads) {
    if (thread.last !== undefined) tally.add(thread.last.tally);
    // Of a thread that could not report its results, the counts of its last report are known.
    else tally.addCounts(thread.counters);
  }
  const { course } = watch;
  // A thread that learns late of an early stop runs past it and extends the run.
  const endUs = Math.max(end.endUs, (watch.lastUs ?? Number.NEGATIVE_INFINITY) + HALF_SLOT_US);
  const elapsedMs = (endUs - startUs) / 1_000;
  const loops = threads.map(({ last }) => last?.busy ?? 0);
  return {
    interrupted: end.interrupted || (stop.aborted && tally.errors.has(INTERRUPTED)),
    warmUp: totalOf(threads.map(({ last }) => last?.warmUp)),
    elapsedMs,
    admitted: watch.meter.admitted,
    wantedRatePerSecond:
      elapsedMs === 0 ? course.rate : watch.slots(startUs, endUs) / (elapsedMs / 1_000),
    wantedRangePerSecond: course.isSteady ? null : course.range,
    admittedPer100Ms: watch.meter.countsUntil(endUs),
    threads,
    tally,
    guarantee: watch.guarantee,
    fitness: fitnessOf({ tally, full: fullThreads(options, threads), loops, processors }),
  };
}

/** Lead time for a stop to reach all threads, so that they end at the same instant. */
const STOP_LEAD_US = 20_000;
/**
 * Grace period after the timeout of the last request, or of the teardown. A thread that takes
 * longer is stuck.
 */
const STUCK_US = 5e6;
const PROGRESS_MS = 250;
/** Live latencies cover this span. */
const WINDOW_MS = 1_000;
/** When the last request was due, and whether that was early. */
interface RunEnd {
  readonly endUs: number;
  readonly interrupted: boolean;
}

/** A run that is ready to start. */
interface ReadyRun {
  readonly options: LoadOptions;
  readonly threads: readonly ThreadHandle[];
  readonly plan: ArrivalPlan;
  /** The end of the warm-up. */
  readonly startUs: number;
  /** How far the clock of a fleet's server is ahead. */
  readonly aheadUs?: number | undefined;
  readonly watch: AdmissionWatch;
  readonly cpu: ReturnType<typeof cpuGauge>;
}

/** Starts all threads and waits for them to finish. */
export async function conduct(
  { options, threads, plan, startUs, aheadUs, watch, cpu }: ReadyRun,
  { stop, onProgress, onSteerable }: RunHooks,
): Promise<RunEnd> {
  const { durationMs, timeoutMs, task } = options;
  const { bucket, startUs: firstUs, timetable } = plan;
  const now = () => bucket.clock.now();
  let endUs = startUs + durationMs * 1_000;
  let interrupted = false;

  const { course } = watch;
  let wantedRate = course.rate;
  const setRate = (rate: number) => {
    wantedRate = Math.min(Math.max(rate, RATES.min), RATES.max);
    change();
  };
  // One change at a time, so that even a delayed thread knows when its requests were due under each
  // rate.
  const change = () => {
    const rate = wantedRate;
    if (rate === course.rate || !threads.every((thread) => thread.follows)) return;
    const beforeUs = now();
    bucket.reconfigure({ rate });
    watch.change(rate, beforeUs, now());
    const outstanding = outstandingAt(rate, { threads: threads.length, task });
    for (const thread of threads) thread.post({ type: 'rate', outstanding });
  };
  // Before the first request, a change would move the start of the run. A fleet's rate belongs to
  // all its processes, and a timetable is fixed.
  const isSteerable = aheadUs === undefined && timetable === undefined;
  const steerable = setTimeout(
    () => {
      if (isSteerable) onSteerable?.((factor) => setRate(wantedRate * factor));
      // The processor time of the warm-up does not count.
      cpu.begin();
    },
    Math.ceil((startUs - now()) / 1_000) + 1,
  );
  // After the last request is due, a stop still cuts those in flight.
  const endEarly = () => {
    const earlyUs = Math.max(firstUs - HALF_SLOT_US, now() + STOP_LEAD_US);
    if (earlyUs < endUs) interrupted = true;
    endUs = Math.min(endUs, earlyUs);
    for (const thread of threads) thread.post({ type: 'stop', endUs });
  };
  const graceUs = timeoutMs * (task === undefined ? 1_000 : 2_000) + STUCK_US;
  const gauge = new LatencyGauge(WINDOW_MS / PROGRESS_MS);
  let processorsAreFull = false;
  const watchProcessors = () => {
    const areFull = cpu.recent.machine > MOST_BUSY;
    if (areFull === processorsAreFull) return;
    processorsAreFull = areFull;
    for (const thread of threads) thread.post({ type: 'processors', areFull });
  };
  const report = () => {
    const nowUs = now();
    watchProcessors();
    onProgress?.({
      elapsedMs: Math.max(0, Math.min(nowUs, endUs) - startUs) / 1_000,
      rateNow: watch.meter.rateAt(nowUs),
      rateWanted: course.isSteady ? undefined : course.rateAt(nowUs),
      latency: gauge.read(threads.map(({ latencies }) => latencies.take())),
      calls: watch.meter.admitted,
      failed: threads.reduce((sum, { counters }) => sum + counters.failed, 0),
      waiting: threads.reduce((sum, { waiting }) => sum + waiting, 0),
      finishing: nowUs > endUs,
    });
    if (nowUs > endUs + graceUs) {
      for (const thread of threads) void thread.giveUp();
    }
  };

  for (const thread of threads) {
    thread.onFollowed = change;
    thread.post({ type: 'go', bucket: bucket.handle, timetable, aheadUs, startUs, endUs, firstUs });
  }
  cpu.begin();
  const progress = setInterval(report, PROGRESS_MS);
  const forget = onAbort(stop, endEarly);
  await Promise.all(
    threads.map(async (thread) => {
      await thread.done;
      // Without this thread the load can't keep the requested rate.
      if (thread.crash !== undefined && now() + STOP_LEAD_US < endUs) endEarly();
    }),
  );
  forget();
  clearInterval(progress);
  // On a busy machine there may have been no report since the run started.
  report();
  clearTimeout(steerable);
  // A run stopped during the warm-up has length 0.
  return { endUs: Math.max(startUs, endUs), interrupted };
}
