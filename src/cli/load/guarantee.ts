import { type Flow, steadyFlow } from './rate-course.ts';

/** An interval of the log and the number of admissions that the guarantee allows in it. */
interface Interval {
  /** Number of admissions in the interval, both ends included. */
  readonly lengthUs: number;
  /** Offset of the interval's first admission from the first of the log. */
  readonly startsAfterUs: number;
  readonly admitted: number;
  /** burst + rate x length: may be fractional, because tokens flow continuously. */
  readonly allowed: number;
}

/** The result of {@link checkGuarantee}. */
export interface GuaranteeVerdict {
  readonly held: boolean;
  /** Number of intervals checked: one for each pair of admissions. */
  readonly intervals: number;
  /** The interval closest to its limit, or furthest beyond it. */
  readonly tightest: Interval | undefined;
  /** Rounding tolerance in tokens, far below the one token that any violation exceeds it by. */
  readonly tolerance: number;
}

/** The limiter's tick is 1/S us; S differs from 4096 by too little to matter here. */
const TICK_US = 1 / 4096;

/** The distance from `x` to the next larger double. */
function ulp(x: number): number {
  // There are 2^52 doubles between two powers of two. `floor(log2)` may be one too high near a
  // power of two, which doubles the result: harmless for a tolerance.
  return x === 0 ? Number.MIN_VALUE : 2 ** (Math.floor(Math.log2(Math.abs(x))) - 52);
}

/**
 * The tolerance in tokens for rounding errors in a correct log.
 *
 * Each end of an interval is off by at most one tick, because the limiter rounds its clock to
 * ticks, and by two roundings: of the wait, and of the clock's time plus that wait. In total this
 * is `2 ticks + 4 ulp(latest instant)` of time. The check itself rounds four times, each time
 * relative to a number of tokens no larger than the log's length plus the burst.
 */
export function toleranceInTokens(
  latestUs: number,
  count: number,
  ratePerUs: number,
  burst: number,
) {
  const ofTime = 2 * TICK_US + 4 * ulp(latestUs);
  return ofTime * ratePerUs + 4 * Number.EPSILON * (count + burst);
}

/**
 * Checks a log of admissions against the guarantee of a token bucket: any interval of length t
 * contains at most `burst + rate x t` admissions. If the rate changed, `rate x t` is the sum over
 * the times of each rate.
 *
 * Among intervals with the same admissions, the shortest is the tightest: it starts and ends on an
 * admission. So it is enough to check pairs i <= j: `j - i + 1 <= burst + rate * (x_j - x_i)`. For
 * each j the tightest i has the least `i - rate * x_i`, a running minimum, so one pass checks all
 * pairs.
 *
 * @param instants microseconds in ascending order
 *
 * @param rate tokens per second
 */
export function checkGuarantee(
  instants: Float64Array,
  rate: number | Flow,
  burst: number,
): GuaranteeVerdict {
  const flow = typeof rate === 'number' ? steadyFlow(rate) : rate;
  const count = instants.length;
  const first = instants[0];
  const last = instants[count - 1];
  if (first === undefined || last === undefined) {
    return { held: true, intervals: 0, tightest: undefined, tolerance: 0 };
  }
  const tolerance = toleranceInTokens(last, count, flow.highest / 1e6, burst) + flow.blur;

  let previous = first;
  let least = Number.POSITIVE_INFINITY;
  let worst = Number.NEGATIVE_INFINITY;
  // Of equally tight intervals, as in a perfect schedule, report the longest: the start moves only
  // for a difference above the tolerance, the end for any difference down to minus the tolerance.
  let startLead = Number.POSITIVE_INFINITY;
  let startIndex = 0;
  let tightStart = 0;
  let tightEnd = 0;
  instants.forEach((instant, index) => {
    if (!(instant >= previous)) {
      throw new RangeError(`instants must be in ascending order: ${instant} follows ${previous}`);
    }
    previous = instant;
    // Instants of one clock are multiples of the same power of two, so this subtraction is exact.
    const lead = index - flow.tokens(first, instant);
    least = Math.min(least, lead);
    if (lead < startLead - tolerance) {
      startLead = lead;
      startIndex = index;
    }
    const excess = lead + 1 - least - burst;
    if (excess >= worst - tolerance) {
      tightStart = startIndex;
      tightEnd = index;
    }
    worst = Math.max(worst, excess);
  });

  const from = instants[tightStart] ?? first;
  const lengthUs = (instants[tightEnd] ?? last) - from;
  return {
    held: worst <= tolerance,
    intervals: (count * (count + 1)) / 2,
    tightest: {
      lengthUs,
      startsAfterUs: from - first,
      admitted: tightEnd - tightStart + 1,
      allowed: burst + flow.tokens(from, from + lengthUs),
    },
    tolerance,
  };
}
