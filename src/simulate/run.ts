import { Timeline } from '../load/measure/timeline.ts';
import { randomNumbers, someSeed } from '../load/plan/random.ts';
import { type Callers, callersAt, SimulatedClock } from './callers.ts';
import type { LimiterSpec } from './limiter-specs.ts';
import { Outcomes } from './outcomes.ts';
import type { ArrivalPattern } from './patterns.ts';
import type { Server, ServerSpec } from './server.ts';
import { type TimestampCounts, TimestampFile } from './timestamps.ts';

const DEFAULT_DURATION_MS = 60_000;

/** The outcomes of one limiter. */
export interface LimiterResult {
  readonly text: string;
  /** Whether its number of permits follows the server. */
  readonly adapts: boolean;
  readonly outcomes: Outcomes;
}

/** Options of a simulation. Give `arrivals` or `file`. */
export interface SimulateOptions {
  readonly limiters: readonly LimiterSpec[];
  readonly arrivals?: ArrivalPattern;
  /** Path of a file with timestamps, or `-` for standard input. */
  readonly file?: string;
  /** Whether to spread timestamps of the same whole second over it. */
  readonly spread: boolean;
  /** Simulated time in milliseconds. Default: a minute, or the whole file. */
  readonly duration?: number;
  /** Maximum wait of callers in milliseconds. Default: 0. */
  readonly wait?: number;
  /** The simulated server. Default: calls take no time. */
  readonly server?: ServerSpec;
  /** Seed of random arrivals and service times. Default: random. */
  readonly seed?: number;
  /** Called often with the share that is simulated, from 0 to 1, unless it is unknown. */
  readonly onProgress?: (share: number) => void;
}

/** The source of the arrivals. */
interface ArrivalsSource {
  /** The pattern, or the path of the file. */
  readonly text: string;
  /** Undefined if nothing is random. */
  readonly seed: number | undefined;
  /** Undefined for a pattern. */
  readonly file: TimestampCounts | undefined;
}

/** The result of a simulation. */
export interface SimulateResult {
  /** The number of arrivals. */
  readonly count: number;
  readonly arrivals: Timeline;
  readonly limiters: readonly LimiterResult[];
  readonly source: ArrivalsSource;
  /** The simulated time; for a file, up to its last arrival. */
  readonly durationMs: number;
  /** Maximum wait of callers; 0 if they do not wait. */
  readonly waitMs: number;
  /** The simulated server; undefined if calls take no time. */
  readonly server: string | undefined;
}

/** @throws Error if the file can't be read or contains no timestamp. */
export async function runSimulation({
  limiters,
  arrivals: pattern,
  file: path,
  spread,
  duration,
  wait: waitMs = 0,
  server,
  seed = someSeed(),
  onProgress,
}: SimulateOptions): Promise<SimulateResult> {
  if (pattern === undefined && path === undefined) throw new TypeError('give arrivals or a file');
  const file = path === undefined ? undefined : TimestampFile.open(path, { spread });
  const lengthMs = pattern === undefined ? Number.POSITIVE_INFINITY : DEFAULT_DURATION_MS;
  const endUs = (duration ?? lengthMs) * 1_000;
  const batches = file?.arrivals(endUs) ?? pattern?.arrivals(endUs, randomNumbers(seed)) ?? [];
  const shareOf = (count: number) =>
    pattern === undefined ? file?.share : Math.min(1, count / pattern.expected(endUs));
  const callers = { waitMs, server: server && (() => server.create(seed)) };
  const { lastUs, ...simulated } = await simulate(batches, limiters, callers, (count) => {
    const share = shareOf(count);
    if (share !== undefined) onProgress?.(share);
  });
  if (file !== undefined && simulated.count === 0) {
    throw new Error(`${path} has no line with a valid timestamp`);
  }
  const isRandom = pattern?.isRandom === true || server?.isRandom === true;
  const source = {
    text: pattern?.text ?? path ?? '',
    seed: isRandom ? seed : undefined,
    file: file?.counts,
  };
  const durationMs = duration ?? (pattern === undefined ? lastUs / 1_000 : DEFAULT_DURATION_MS);
  return { ...simulated, source, durationMs, waitMs, server: server?.text };
}

interface Stand extends LimiterResult {
  readonly callers: Callers;
}

/** The behaviour of the callers. */
interface CallerOptions {
  /** Their maximum wait; 0 if they do not wait. */
  readonly waitMs: number;
  /** Creates the server that they call. Default: calls take no time. */
  readonly server?: (() => Server) | undefined;
}

function stand(spec: LimiterSpec, { waitMs, server }: CallerOptions): Stand {
  const clock = new SimulatedClock();
  const [limiter, semaphore] = [spec.create(clock), spec.semaphore(clock)];
  const outcomes = new Outcomes(spec.bounds(), waitMs, semaphore?.permits);
  const setting = { semaphore, limiter, clock, outcomes, server: server?.() };
  return { text: spec.text, adapts: spec.adapts, outcomes, callers: callersAt(setting, waitMs) };
}

/**
 * Replays the same arrivals through each limiter in simulated time.
 *
 * @returns also the last arrival, in microseconds from the start
 */
export async function simulate(
  batches: Iterable<Float64Array> | AsyncIterable<Float64Array>,
  specs: readonly LimiterSpec[],
  options: CallerOptions,
  onBatch: (count: number) => void = () => undefined,
): Promise<Pick<SimulateResult, 'count' | 'arrivals' | 'limiters'> & { lastUs: number }> {
  const stands = specs.map((spec) => stand(spec, options));
  const arrivals = new Timeline();
  let count = 0;
  let lastUs = 0;
  for await (const batch of batches) {
    for (const atUs of batch) arrivals.add(atUs);
    for (const { callers } of stands) callers.arrive(batch);
    count += batch.length;
    lastUs = batch.at(-1) ?? lastUs;
    onBatch(count);
  }
  for (const { callers } of stands) callers.finish();
  sameSlots([
    arrivals,
    ...stands.flatMap(({ outcomes }) => [outcomes.admissions, outcomes.goodput]),
  ]);
  return { count, lastUs, arrivals, limiters: stands };
}

/** Gives all timelines equal slots, so that charts can overlay them. */
function sameSlots(timelines: readonly Timeline[]): void {
  const widest = Math.max(...timelines.map(({ slotUs }) => slotUs));
  for (const timeline of timelines) timeline.widenTo(widest);
}
