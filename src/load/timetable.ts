import { randomNumbers } from './random.ts';

/** A span of a timetable over which the rate is constant or changes linearly. */
export interface RateStretch {
  readonly lengthUs: number;
  /** Requests per second at its start. */
  readonly from: number;
  /** Requests per second at its end. */
  readonly to: number;
}

/** A part of a random timetable, with exactly as many instants as its rate gives. */
type TimetablePart = readonly RateStretch[];

/** A fixed timetable. Every thread computes the same instants from it. */
export type Timetable =
  | {
      readonly kind: 'poisson';
      readonly seed: number;
      /** In order: the warm-up, if any, and the run. */
      readonly parts: readonly TimetablePart[];
    }
  | {
      readonly kind: 'listed';
      /** Microseconds since the start, ascending. */
      readonly instantsUs: Float64Array;
    };

/** The instants of a timetable in order, in microseconds since its start. */
export function instantsOf(timetable: Timetable): Iterator<number, undefined> {
  if (timetable.kind === 'poisson') return randomInstants(timetable.seed, timetable.parts);
  return listedInstants(timetable.instantsUs);
}

/** The number of requests that fall into a stretch, possibly fractional. */
function tokensOf({ lengthUs, from, to }: RateStretch): number {
  return ((from + to) / 2) * (lengthUs / 1e6);
}

/** The number of instants in a part. */
function countOf(part: TimetablePart): number {
  return Math.round(part.reduce((sum, stretch) => sum + tokensOf(stretch), 0));
}

/** The time after which a stretch has produced `tokens`. */
function untilTokens({ lengthUs, from, to }: RateStretch, tokens: number): number {
  // The quadratic formula in the form without cancellation; the rate grows by `slope` per second.
  const slope = (to - from) / (lengthUs / 1e6);
  return (2e6 * tokens) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * tokens)));
}

/**
 * A Poisson process conditioned on its number of instants: instants are independent of each other,
 * with a density proportional to the rate. They are drawn in order: the first of `left` instants
 * comes after the share `1 - v^(1/left)` of the remaining time, with `v` random.
 */
function* randomInstants(
  seed: number,
  parts: readonly TimetablePart[],
): Generator<number, undefined> {
  const random = randomNumbers(seed);
  let beginUs = 0;
  for (const part of parts) {
    // In tokens rather than time, so that the density follows the rate.
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
