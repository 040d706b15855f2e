import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { countPerSlot, mergeAdmissions } from './admission-log.ts';
import type { ServerListening } from './echo-server.ts';
import { joinFleet, measureAhead } from './fleet.ts';
import { checkGuarantee } from './guarantee.ts';
import type { Rehearsal } from './messages.ts';
import { type LoadOptions, MAX_RATE, MIN_RATE } from './options.ts';
import { reservationsAhead } from './pacer.ts';
import { RateCourse } from './rate-course.ts';
import { RateMeter } from './rate-meter.ts';
import type { LoadResult } from './result.ts';
import { openSchedule, type Schedule } from './schedule.ts';
import { Tally } from './tally.ts';
import { ThreadHandle } from './thread-handle.ts';

// Workers need compiled JavaScript on Node 20, so these are paths in dist.
const LOAD_WORKER = new URL('../../../workers/load-worker.js', import.meta.url);
const ECHO_SERVER = new URL('../../../workers/echo-server.js', import.meta.url);

/** Time for the threads to attach to the bucket before the first request is due. */
const LEAD_MS = 100;
const LEAD_MS_PER_THREAD = 2;
/** Time for a stop to reach the threads, so that all end at the same instant. */
const STOP_LEAD_US = 20_000;
/** On top of the timeout of the last request: a thread that takes longer has got stuck. */
const STUCK_US = 5e6;
/**
 * How far each process of a fleet reserves ahead, as if the rate were its own: what all have reserved is
 * what the next one to start waits for.
 */
const FLEET_AHEAD_MS = 50;
const PROGRESS_MS = 250;
/** From one step of a ramp to the next. */
const RAMP_STEP_MS = 100;
/**
 * Slots are at least 1 us apart. The run begins half of that before its first slot and ends half of
 * that before the first slot beyond it, so that no rounding moves a slot across.
 */
const HALF_SLOT_US = 0.5;

/** How far a run has got. */
export interface Progress {
  readonly elapsedMs: number;
  /** Requests per second over the last second or so; undefined at the very start. */
  readonly rateNow: number | undefined;
  /** The rate that is asked for now; undefined as long as it was never changed. */
  readonly rateWanted: number | undefined;
  readonly admitted: number;
  readonly failed: number;
  /** Requests in flight or queued. */
  readonly waiting: number;
  /** No further request is made; those under way are waited for. */
  readonly finishing: boolean;
}

export interface RunHooks {
  /** Ends the run early when it is aborted. */
  readonly stop: AbortSignal;
  readonly onStart?: (url: string) => void;
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Is given, when the run has begun, what multiplies the rate by a factor from then on, within the
   * rates that there can be.
   */
  readonly onSteerable?: (steer: (factor: number) => void) => void;
  /** Another worker in place of the load thread's, for tests. */
  readonly loadWorker?: URL;
}

/** The run was stopped before its first request. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}

/**
 * Makes a load as `options` say. Requests that fail are part of the result; it throws only if no
 * load could be made at all.
 *
 * @throws InterruptedError if it was stopped before its first request
 */
export async function runLoad(options: LoadOptions, hooks: RunHooks): Promise<LoadResult> {
  // First: the server's message would not wait for it.
  const fleet = options.fleet && (await joinFleet(options.fleet));
  const server = new Worker(ECHO_SERVER);
  let threads: ThreadHandle[] = [];
  let meter: RateMeter | undefined;
  try {
    const ownUrl = await embeddedUrl(server);
    // Should it crash later on, then its requests fail, and the result tells that.
    server.on('error', () => undefined);
    const url = options.url ?? ownUrl;
    const code = hooks.loadWorker ?? LOAD_WORKER;
    const rehearsal = { url: ownUrl, requests: rehearsalRequests(options.threads) };
    threads = startThreads(options, url, rehearsal, code, (log) => meter?.add(log));
    await readiness(threads, hooks.stop);
    if (url !== ownUrl) await server.terminate();

    hooks.onStart?.(url);
    const leadMs = LEAD_MS + LEAD_MS_PER_THREAD * threads.length;
    const schedule = openSchedule(options.ramp?.from ?? options.rate, options.burst, leadMs);
    meter = new RateMeter(schedule.startUs - HALF_SLOT_US);
    const startedAt = new Date();
    const aheadUs = fleet && (await measureAhead(fleet));
    const window = await drive(options, threads, schedule, aheadUs, meter, hooks);
    return collect({ options, url, startedAt, threads, ...window });
  } finally {
    fleet?.close();
    await Promise.all([server.terminate(), ...threads.map((thread) => thread.giveUp())]);
  }
}

/** Enough for a thread's code to be compiled; fewer where many threads share the processor. */
function rehearsalRequests(threads: number): number {
  return Math.max(20, Math.min(300, Math.floor(4_000 / threads)));
}

async function embeddedUrl(server: Worker): Promise<string> {
  // Rejects on the thread's 'error' event.
  const [{ url }] = (await once(server, 'message')) as [ServerListening];
  return url;
}

function startThreads(
  {
    rate,
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
  onAdmissions: (admissions: Float64Array) => void,
): ThreadHandle[] {
  const outstanding = reservationsAhead(rate, threads, fleet && FLEET_AHEAD_MS);
  const request = { method, headers, body };
  return Array.from({ length: threads }, (_, index) => {
    const share = Math.floor(((index + 1) * connections) / threads);
    const before = Math.floor((index * connections) / threads);
    const data = {
      url,
      rehearsal,
      connections: share - before,
      request,
      timeoutMs,
      outstanding,
      latencyByTime,
      fleet,
    };
    return new ThreadHandle(code, data, onAdmissions);
  });
}

async function readiness(threads: readonly ThreadHandle[], stop: AbortSignal): Promise<void> {
  const ready = Promise.all(threads.map((thread) => thread.ready));
  if (!stop.aborted) await Promise.race([ready, once(stop, 'abort')]);
  if (stop.aborted) throw new InterruptedError('stopped before the first request');
  const crashed = threads.find((thread) => thread.crash !== undefined);
  if (crashed !== undefined) throw new Error(`a load thread cannot start: ${crashed.crash}`);
}

interface RunWindow {
  readonly startUs: number;
  readonly endUs: number;
  readonly interrupted: boolean;
  readonly course: RateCourse;
}

/** Starts all threads, and returns when the last of them is done. */
async function drive(
  { durationMs, timeoutMs, ramp }: LoadOptions,
  threads: readonly ThreadHandle[],
  { bucket, startUs: firstUs }: Schedule,
  aheadUs: number | undefined,
  meter: RateMeter,
  { stop, onProgress, onSteerable }: RunHooks,
): Promise<RunWindow> {
  const now = () => bucket.clock.now();
  const startUs = firstUs - HALF_SLOT_US;
  let endUs = startUs + durationMs * 1_000;
  let interrupted = false;

  const course = new RateCourse(now(), bucket.rate);
  const setRate = (wanted: number) => {
    const rate = Math.min(Math.max(wanted, MIN_RATE), MAX_RATE);
    if (rate === course.rate) return;
    const beforeUs = now();
    bucket.reconfigure({ rate });
    course.change(rate, beforeUs, now());
    const outstanding = reservationsAhead(rate, threads.length);
    for (const thread of threads) thread.post({ type: 'rate', outstanding });
  };
  // A change before the first request would move the start of the run. The rate of a fleet is not this
  // process's to change.
  const steerable = setTimeout(
    () => {
      if (aheadUs === undefined) onSteerable?.((factor) => setRate(course.rate * factor));
    },
    Math.ceil((startUs - now()) / 1_000) + 1,
  );
  const climb = () => {
    if (ramp === undefined) return;
    const part = Math.min(1, Math.max(0, (now() - startUs) / (ramp.overMs * 1_000)));
    setRate(ramp.from + (ramp.to - ramp.from) * part);
    if (part === 1) clearInterval(ramping);
  };
  const ramping = ramp && setInterval(climb, RAMP_STEP_MS);

  const endEarly = () => {
    const earlyUs = Math.max(startUs, now() + STOP_LEAD_US);
    if (earlyUs >= endUs) return;
    endUs = earlyUs;
    interrupted = true;
    for (const thread of threads) thread.post({ type: 'stop', endUs });
  };
  const report = () => {
    const nowUs = now();
    onProgress?.({
      elapsedMs: Math.max(0, Math.min(nowUs, endUs) - startUs) / 1_000,
      rateNow: meter.rateAt(nowUs),
      rateWanted: course.isSteady ? undefined : course.rate,
      admitted: meter.admitted,
      failed: threads.reduce((sum, { counters }) => sum + counters.failed, 0),
      waiting: threads.reduce((sum, { waiting }) => sum + waiting, 0),
      finishing: nowUs > endUs,
    });
    if (nowUs > endUs + timeoutMs * 1_000 + STUCK_US) {
      for (const thread of threads) void thread.giveUp();
    }
  };

  for (const thread of threads) {
    thread.post({ type: 'go', bucket: bucket.handle, aheadUs, startUs, endUs });
  }
  const progress = setInterval(report, PROGRESS_MS);
  stop.addEventListener('abort', endEarly, { once: true });
  await Promise.all(
    threads.map(async (thread) => {
      await thread.done;
      // Without one thread the load is not the one that was asked for.
      if (thread.crash !== undefined) endEarly();
    }),
  );
  stop.removeEventListener('abort', endEarly);
  clearInterval(progress);
  clearInterval(ramping);
  clearTimeout(steerable);
  return { startUs, endUs, interrupted, course };
}

interface Collected extends RunWindow {
  readonly options: LoadOptions;
  readonly url: string;
  readonly startedAt: Date;
  readonly threads: readonly ThreadHandle[];
}

function collect({
  options,
  url,
  startedAt,
  threads,
  startUs,
  endUs: plannedEndUs,
  interrupted,
  course,
}: Collected): LoadResult {
  const tally = new Tally();
  for (const thread of threads) {
    if (thread.tally !== undefined) tally.add(thread.tally);
  }
  const admissions = mergeAdmissions(threads.flatMap((thread) => thread.logs));
  // A thread that heard of an early end too late has gone on beyond it, and so has the run.
  const lastUs = admissions.at(-1) ?? startUs;
  const endUs = Math.max(plannedEndUs, lastUs + HALF_SLOT_US);
  const elapsedMs = (endUs - startUs) / 1_000;
  const sent = threads.reduce((sum, { counters }) => sum + counters.sent, 0);
  return {
    options,
    url,
    startedAt,
    interrupted,
    elapsedMs,
    admitted: admissions.length,
    sent,
    wantedRate: elapsedMs === 0 ? course.rate : course.tokens(startUs, endUs) / (elapsedMs / 1_000),
    rateRange: course.isSteady ? undefined : course.range,
    achievedRate: elapsedMs === 0 ? 0 : sent / (elapsedMs / 1_000),
    admittedPer100Ms: countPerSlot(admissions, { startUs, endUs, slotUs: 100_000 }),
    threads: threads.map(({ logs, counters, crash }) => ({
      admitted: logs.reduce((sum, log) => sum + log.length, 0),
      counters,
      crash,
    })),
    tally,
    guarantee: checkGuarantee(admissions, course.isSteady ? course.rate : course, options.burst),
  };
}
