import type { Arrivals } from './arrivals.ts';
import type { LoadOptions } from './options.ts';
import type { RateStretch, Timetable } from './timetable.ts';

/** The fixed timetable of a run with a warm-up of this length, if it has one. */
export function timetableOf(
  arrivals: Arrivals,
  { rate, ramp, durationMs }: Pick<LoadOptions, 'rate' | 'ramp' | 'durationMs'>,
  warmUpUs: number,
): Timetable {
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

/** A copy in shared memory, which threads get without copying it again. */
function shared(instants: Float64Array): Float64Array {
  const copy = new Float64Array(new SharedArrayBuffer(instants.byteLength));
  copy.set(instants);
  return copy;
}
