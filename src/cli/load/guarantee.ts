import { type Flow, steadyFlow } from './rate-course.ts';

/** A stretch of the log, and how much the guarantee allowed in it. */
interface Interval {
  /** From its first admission to its last, both counted. */
  readonly lengthUs: number;
  /** From the first admission of the log to the first of this stretch. */
  readonly startsAfterUs: number;
  readonly admitted: number;
  /** burst + rate x length: a fraction, as tokens flow steadily. */
  readonly allowed: number;
}

/** What {@link checkGuarantee} found. */
export interface GuaranteeVerdict {
  readonly held: boolean;
  /** How many intervals were checked: every pair of admissions bounds one. */
  readonly intervals: number;
  /** The interval that came closest to what is allowed, or went furthest beyond it. */
  readonly tightest: Interval | undefined;
  /** In tokens: how far doubles may be off. Far below the one token that a violation has at least. */
  readonly tolerance: number;
}

/** The limiter's unit of time: 1/S microsecond, with S so close to 4096 that it is no matter here. */
const TICK_US = 1 / 4096;

/** The distance from `x` to the next larger double. */
function ulp(x: number): number {
  // 2^52 doubles lie between two powers of two. `floor(log2)` may be one too high next to a power
  // of two, which doubles the result: harmless in a tolerance.
  return x === 0 ? Number.MIN_VALUE : 2 ** (Math.floor(Math.log2(Math.abs(x))) - 52);
}

/**
 * By how many tokens the rounding of doubles may make a correct log look wrong.
 *
 * Either end of an interval is off by at most one tick, as the limiter rounds its clock to ticks,
 * and by two roundings: of the wait, and of the clock's time plus that wait. That makes
 * `2 ticks + 4 ulp(latest instant)` of time. The check itself rounds four times, each time relative
 * to a number of tokens that is no larger than the log's length plus the burst.
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
 * Checks a log of admissions against the guarantee of a token bucket: in every interval of length
 * t, at most `burst + rate x t` are admitted.
 *
 * An interval that starts and ends on an admission is the hardest of those that hold the same
 * admissions, so it is enough to look at pairs i <= j: `j - i + 1 <= burst + rate * (x_j - x_i)`.
 * For each j the hardest i is the one with the least `i - rate * x_i`, and that is a running
 * minimum, so that all pairs are checked in one pass.
 *
 * @param instants microseconds, in ascending order
 * Where the rate changed, `rate x t` is what flowed: each rate for its time.
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
  // Where many intervals are equally tight, as in a perfect schedule, the longest is shown: hence
  // the start and the end move only for more than the tolerance, and for no less, respectively.
  let startLead = Number.POSITIVE_INFINITY;
  let startIndex = 0;
  let tightStart = 0;
  let tightEnd = 0;
  instants.forEach((instant, index) => {
    if (!(instant >= previous)) {
      throw new RangeError(`instants must be in ascending order: ${instant} follows ${previous}`);
    }
    previous = instant;
    // Instants on one clock are multiples of the same power of two, so this subtraction is exact.
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
