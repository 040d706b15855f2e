import { onAbort } from '../time/on-abort.ts';
import type { AdmissionWatch } from './admission-watch.ts';
import type { ArrivalPlan } from './arrival-plan.ts';
import type { CpuGauge } from './cpu-gauge.ts';
import { MOST_BUSY } from './fitness.ts';
import { LatencyGauge, type RecentPercentiles } from './latency-gauge.ts';
import { type LoadOptions, MAX_RATE, MIN_RATE } from './options.ts';
import { outstandingAt } from './start-threads.ts';
import type { ThreadHandle } from './thread-handle.ts';

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
/** Time between the steps of a ramp. */
const RAMP_STEP_MS = 100;
/**
 * Slots are at least 1 us apart. A run starts and ends half a microsecond before a slot, so
 * rounding cannot move a slot across either end.
 */
export const HALF_SLOT_US = 0.5;

/** The progress of a run. */
export interface Progress {
  readonly elapsedMs: number;
  /** Requests per second over the last second; undefined before the first report. */
  readonly rateNow: number | undefined;
  /** The current target rate; undefined until it first changes. */
  readonly rateWanted: number | undefined;
  /** Latencies of the last second; undefined if it had no response. */
  readonly latency: RecentPercentiles | undefined;
  readonly admitted: number;
  readonly failed: number;
  /** Requests in flight or queued. */
  readonly waiting: number;
  /** Whether no more requests come due and the run waits for those in flight. */
  readonly finishing: boolean;
}

export interface RunHooks {
  /** Ends the run early when aborted. */
  readonly stop: AbortSignal;
  readonly onStart?: (url: string) => void;
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Called once the run has started. The given function multiplies the rate by a factor, within the
   * valid rates.
   */
  readonly onSteerable?: (steer: (factor: number) => void) => void;
  /** For tests: replaces the code of the load threads. */
  readonly loadWorker?: URL;
}

/** The time from the first request to the last, and the rate over that time. */
export interface RunWindow {
  readonly startUs: number;
  readonly endUs: number;
  readonly interrupted: boolean;
}

/** Starts all threads and waits for them to finish. */
export async function drive(
  { durationMs, timeoutMs, ramp, task }: LoadOptions,
  warmUpUs: number,
  threads: readonly ThreadHandle[],
  { bucket, startUs: firstUs, timetable }: ArrivalPlan,
  aheadUs: number | undefined,
  watch: AdmissionWatch,
  cpu: CpuGauge,
  { stop, onProgress, onSteerable }: RunHooks,
): Promise<RunWindow> {
  const now = () => bucket.clock.now();
  const startUs = firstUs - HALF_SLOT_US + warmUpUs;
  let endUs = startUs + durationMs * 1_000;
  let interrupted = false;

  const { course } = watch;
  let wantedRate = course.rate;
  const setRate = (rate: number) => {
    wantedRate = Math.min(Math.max(rate, MIN_RATE), MAX_RATE);
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
  const climb = () => {
    if (ramp === undefined || timetable !== undefined) return;
    const part = Math.min(1, Math.max(0, (now() - startUs) / (ramp.overMs * 1_000)));
    setRate(ramp.from + (ramp.to - ramp.from) * part);
    if (part === 1) clearInterval(ramping);
  };
  const ramping = ramp && setInterval(climb, RAMP_STEP_MS);

  const endEarly = () => {
    const earlyUs = Math.max(firstUs - HALF_SLOT_US, now() + STOP_LEAD_US);
    if (earlyUs >= endUs) return;
    endUs = earlyUs;
    interrupted = true;
    for (const thread of threads) thread.post({ type: 'stop', endUs });
  };
  const patienceUs = timeoutMs * (task === undefined ? 1_000 : 2_000) + STUCK_US;
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
      rateNow: watch.rateAt(nowUs),
      rateWanted: course.isSteady || timetable !== undefined ? undefined : course.rate,
      latency: gauge.read(threads.map(({ latencies }) => latencies.take())),
      admitted: watch.admitted,
      failed: threads.reduce((sum, { counters }) => sum + counters.failed, 0),
      waiting: threads.reduce((sum, { waiting }) => sum + waiting, 0),
      finishing: nowUs > endUs,
    });
    if (nowUs > endUs + patienceUs) {
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
      if (thread.crash !== undefined) endEarly();
    }),
  );
  forget();
  clearInterval(progress);
  // On a busy machine there may have been no report since the run started.
  report();
  clearInterval(ramping);
  clearTimeout(steerable);
  // A run stopped during the warm-up has length 0.
  return { startUs, endUs: Math.max(startUs, endUs), interrupted };
}
