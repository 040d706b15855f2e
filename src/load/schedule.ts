import { randomNumbers } from './random.ts';

/** A time over which the rate of a schedule changes evenly, if at all. */
export interface RateStretch {
  readonly lengthUs: number;
  /** Requests per second at its beginning. */
  readonly from: number;
  /** Requests per second at its end. */
  readonly to: number;
}

/** A part of a random schedule: it has exactly as many instants as its rate says. */
type SchedulePart = readonly RateStretch[];

/** A fixed schedule, from which every thread computes the same instants. */
export type Schedule =
  | {
      readonly kind: 'poisson';
      readonly seed: number;
      /** One after the other: the warm-up, if there is one, and the run. */
      readonly parts: readonly SchedulePart[];
    }
  | {
      readonly kind: 'listed';
      /** Microseconds from the beginning, ascending. */
      readonly instantsUs: Float64Array;
    };

/** The instants of a schedule in order, in microseconds from its beginning. */
export function instantsOf(schedule: Schedule): Iterator<number, undefined> {
  if (schedule.kind === 'poisson') return randomInstants(schedule.seed, schedule.parts);
  return listedInstants(schedule.instantsUs);
}

/** Requests that flow in over a stretch. */
function tokensOf({ lengthUs, from, to }: RateStretch): number {
  return ((from + to) / 2) * (lengthUs / 1e6);
}

/** The number of instants in a part. */
function countOf(part: SchedulePart): number {
  return Math.round(part.reduce((sum, stretch) => sum + tokensOf(stretch), 0));
}

/** How long after its beginning a stretch has let `tokens` flow in. */
function untilTokens({ lengthUs, from, to }: RateStretch, tokens: number): number {
  // The quadratic formula without its cancellation, for a rate that climbs by `slope` a second.
  const slope = (to - from) / (lengthUs / 1e6);
  return (2e6 * tokens) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * tokens)));
}

/**
 * A Poisson process, given its number of instants: as many as the rate asks for, each of them
 * independent of the others and equally likely wherever the rate is the same. They are drawn in
 * order: of `left` instants in the rest of the time, the first has the share `1 - v^(1/left)` of it
 * before it, with `v` random.
 */
function* randomInstants(
  seed: number,
  parts: readonly SchedulePart[],
): Generator<number, undefined> {
  const random = randomNumbers(seed);
  let beginUs = 0;
  for (const part of parts) {
    // In tokens, of which each stretch has as many in equal times as its rate says.
    let rest = part.reduce((sum, stretch) => sum + tokensOf(stretch), 0);
    let before = 0;
    let at = 0;
    let stretch = part[at];
    for (let left = countOf(part); left > 0 && stretch !== undefined; left -= 1) {
      const gap = -rest * Math.expm1(Math.log(random()) / left);
      rest -= gap;
      before += gap;
      while (before > tokensOf(stretch) && part[at + 1] !== undefined) {
        before -= tokensOf(stretch);
        beginUs += stretch.lengthUs;
        at += 1;
        stretch = part[at] ?? stretch;
      }
      yield beginUs + untilTokens(stretch, before);
    }
    for (; at < part.length; at += 1) beginUs += part[at]?.lengthUs ?? 0;
  }
  return undefined;
}

function* listedInstants(instantsUs: Float64Array): Generator<number, undefined> {
  yield* instantsUs;
  return undefined;
}
