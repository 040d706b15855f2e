import type { LoadOptions } from './options.ts';
import type { RateStretch, Schedule } from './schedule.ts';

/** When requests are due, if not evenly spaced. */
export type Arrivals =
  | {
      /**
       * At random and independent of each other, as many as the rate says. A ramp changes how close
       * they are.
       */
      readonly kind: 'poisson';
      /** A whole number from 0 to 2^32 - 1. The same seed gives the same instants. */
      readonly seed: number;
    }
  | {
      /** At given instants, and neither rate nor ramp matters. */
      readonly kind: 'listed';
      /** Where they come from, for people. */
      readonly name: string;
      /** Microseconds from the beginning of the run, ascending. */
      readonly instantsUs: Float64Array;
    };

/** The schedule of a run with a warm-up of this length. */
export function scheduleOf(
  arrivals: Arrivals,
  { rate, ramp, durationMs }: Pick<LoadOptions, 'rate' | 'ramp' | 'durationMs'>,
  warmUpUs: number,
): Schedule {
  if (arrivals.kind === 'listed')
    return { kind: 'listed', instantsUs: shared(arrivals.instantsUs) };
  const lengthUs = durationMs * 1_000;
  const first = ramp?.from ?? rate;
  const warmUp = { lengthUs: warmUpUs, from: first, to: first };
  const run: RateStretch[] = [];
  const climbUs = Math.min(lengthUs, (ramp?.overMs ?? 0) * 1_000);
  if (ramp !== undefined) {
    const reached = ramp.from + (ramp.to - ramp.from) * (climbUs / (ramp.overMs * 1_000));
    run.push({ lengthUs: climbUs, from: ramp.from, to: reached });
  }
  if (lengthUs > climbUs) run.push({ lengthUs: lengthUs - climbUs, from: rate, to: rate });
  return { kind: 'poisson', seed: arrivals.seed, parts: [[warmUp], run] };
}

/** A copy that threads share instead of copying it again. */
function shared(instants: Float64Array): Float64Array {
  const copy = new Float64Array(new SharedArrayBuffer(instants.byteLength));
  copy.set(instants);
  return copy;
}
