import { Timeline } from '../load/timeline.ts';
import { type Callers, callersAt } from './callers.ts';
import type { LimiterSpec } from './limiter-specs.ts';
import { Outcomes } from './outcomes.ts';
import { ServedCallers } from './served-callers.ts';
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
  const limiter = spec.create(clock);
  const semaphore = spec.semaphore(clock);
  const outcomes = new Outcomes(spec.bounds(), waitMs);
  const callersOf = () => {
    if (server !== undefined) {
      return new ServedCallers({ semaphore, limiter, clock, outcomes, server: server() }, waitMs);
    }
    if (semaphore !== undefined || limiter === undefined) {
      throw new TypeError('a semaphore needs a server, which defines how long permits are held');
    }
    return callersAt({ limiter, clock, outcomes }, waitMs);
  };
  return { text: spec.text, outcomes, callers: callersOf() };
}

/** Replays the same arrivals through each limiter in simulated time. */
export async function simulate(
  batches: Iterable<Float64Array> | AsyncIterable<Float64Array>,
  specs: readonly LimiterSpec[],
  options: CallerOptions,
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
