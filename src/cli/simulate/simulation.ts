import type { Limiter } from '../../limiters/limiter.ts';
import { Timeline } from '../report/timeline.ts';
import { type Callers, callersAt } from './callers.ts';
import type { LimiterSpec } from './limiter-specs.ts';
import { Outcomes } from './outcomes.ts';
import { SimulatedClock } from './simulated-clock.ts';

/** One limiter's outcomes. */
export interface LimiterResult {
  readonly text: string;
  readonly outcomes: Outcomes;
}

/** The arrivals and the outcomes of each limiter. */
export interface SimulationResult {
  readonly count: number;
  /** The last arrival in microseconds from the start. */
  readonly lastUs: number;
  readonly arrivals: Timeline;
  readonly limiters: readonly LimiterResult[];
}

interface Stand {
  readonly text: string;
  readonly outcomes: Outcomes;
  readonly callers: Callers;
}

function stand(spec: LimiterSpec, waitMs: number): Stand {
  const clock = new SimulatedClock();
  const limiter: Limiter = spec.create(clock);
  const outcomes = new Outcomes(spec.bounds(), waitMs);
  return { text: spec.text, outcomes, callers: callersAt({ limiter, clock, outcomes }, waitMs) };
}

/**
 * Replays the same arrivals through each limiter, in simulated time.
 *
 * @param waitMs how long callers wait at most; 0 means that they take a refusal
 */
export async function simulate(
  batches: Iterable<Float64Array> | AsyncIterable<Float64Array>,
  specs: readonly LimiterSpec[],
  waitMs: number,
): Promise<SimulationResult> {
  const stands = specs.map((spec) => stand(spec, waitMs));
  const arrivals = new Timeline();
  let count = 0;
  let lastUs = 0;
  for await (const batch of batches) {
    for (const atUs of batch) arrivals.add(atUs);
    for (const { callers } of stands) callers.arrive(batch);
    count += batch.length;
    lastUs = batch.at(-1) ?? lastUs;
  }
  for (const { callers } of stands) callers.finish();
  sameSlots([arrivals, ...stands.map(({ outcomes }) => outcomes.admissions)]);
  return { count, lastUs, arrivals, limiters: stands };
}

/** Gives all timelines the same slots, so that charts can overlay them. */
function sameSlots(timelines: readonly Timeline[]): void {
  const widest = Math.max(...timelines.map(({ slotUs }) => slotUs));
  for (const timeline of timelines) timeline.widenTo(widest);
}
