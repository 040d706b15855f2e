import { Timeline } from '../load/measure/timeline.ts';
import { type Callers, callersAt } from './callers.ts';
import type { LimiterSpec } from './limiter-specs.ts';
import { Outcomes } from './outcomes.ts';
import type { Server } from './server.ts';
import { SimulatedClock } from './simulated-clock.ts';

/** The outcomes of one limiter. */
export interface LimiterResult {
  readonly text: string;
  readonly outcomes: Outcomes;
}

/** The arrivals and the outcomes of each limiter. */
export interface SimulationResult {
  readonly count: number;
  /** The last arrival, in microseconds from the start. */
  readonly lastUs: number;
  readonly arrivals: Timeline;
  readonly limiters: readonly LimiterResult[];
}

interface Stand {
  readonly text: string;
  readonly outcomes: Outcomes;
  readonly callers: Callers;
}

/** The behaviour of the callers. */
export interface CallerOptions {
  /** Their maximum wait; 0 if they do not wait. */
  readonly waitMs: number;
  /** Creates the server that they call. Default: calls take no time. */
  readonly server?: (() => Server) | undefined;
}

function stand(spec: LimiterSpec, { waitMs, server }: CallerOptions): Stand {
  const clock = new SimulatedClock();
  const [limiter, semaphore] = [spec.create(clock), spec.semaphore(clock)];
  const outcomes = new Outcomes(spec.bounds(), waitMs);
  const setting = { semaphore, limiter, clock, outcomes, server: server?.() };
  return { text: spec.text, outcomes, callers: callersAt(setting, waitMs) };
}

/** Replays the same arrivals through each limiter in simulated time. */
export async function simulate(
  batches: Iterable<Float64Array> | AsyncIterable<Float64Array>,
  specs: readonly LimiterSpec[],
  options: CallerOptions,
  onBatch: (count: number) => void = () => undefined,
): Promise<SimulationResult> {
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
  sameSlots([arrivals, ...stands.map(({ outcomes }) => outcomes.admissions)]);
  return { count, lastUs, arrivals, limiters: stands };
}

/** Gives all timelines equal slots, so that charts can overlay them. */
function sameSlots(timelines: readonly Timeline[]): void {
  const widest = Math.max(...timelines.map(({ slotUs }) => slotUs));
  for (const timeline of timelines) timeline.widenTo(widest);
}
