import { RateCourse, TICK_US } from '../plan/rate-course.ts';

/** An interval and the calls that came due in it. */
export interface TightestInterval {
  /** Its start, in milliseconds after the first call. */
  readonly startsAfterMs: number;
  /** Milliseconds from its first call to its last, both included. */
  readonly lengthMs: number;
  /** Calls that came due in it. */
  readonly admitted: number;
  /**
   * Calls that the guarantee allows in it: burst + rate x length. May be fractional, because tokens
   * arrive continuously.
   */
  readonly allowed: number;
}

/** Whether at most burst + rate x t calls came due in any interval of length t. */
export interface Guarantee {
  /** Whether the guarantee held. */
  readonly held: boolean;
  /** Number of intervals checked: one per pair of calls. */
  readonly intervals: number;
  /** Rounding tolerance of the check. Far below 1, the least excess of a violation. */
  readonly toleranceInTokens: number;
  /** Poisson or listed arrivals: each call must come due at an instant of its own. */
  readonly scheduled?: ScheduledCalls;
  /** The interval closest to its maximum, or furthest beyond it; null without a call. */
  readonly tightest: TightestInterval | null;
}

/** How calls compare with fixed instants. */
export interface ScheduledCalls {
  /** Calls that came due. */
  readonly admitted: number;
  /** Those without an instant of their own. */
  readonly strays: number;
}

/** The distance from `x` to the next larger double. */
function ulp(x: number): number {
  // There are 2^52 doubles between two powers of two. Near one, `floor(log2)` may be one too high.
  // This doubles the result, which is harmless for a tolerance.
  return x === 0 ? Number.MIN_VALUE : 2 ** (Math.floor(Math.log2(Math.abs(x))) - 52);
}

/**
 * The tolerance in tokens for rounding errors in a correct log.
 *
 * Each end of an interval is off by at most one tick, because the limiter rounds its clock to
 * ticks, and by two roundings: of the wait, and of the clock's time plus that wait. In total this
 * is `2 ticks + 4 ulp(latest instant)` of time. The check itself rounds four times for each of
 * `count` admissions and rate changes, each time relative to a number of tokens whose sum is no
 * larger than the log's length plus the burst.
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

/** A place in the log. */
interface Place {
  readonly us: number;
  /** Number of admissions before it. */
  readonly index: number;
}

/**
 * Checks a stream of admissions against the guarantee of a token bucket: any interval of length t
 * contains at most `burst + rate x t` admissions. If the rate changes, `rate x t` is the sum over
 * the spans of each rate.
 *
 * Among intervals with the same admissions, the shortest is the tightest: it starts and ends on an
 * admission. Checking pairs i <= j is therefore enough: `j - i + 1 <= burst + rate * (x_j - x_i)`.
 * For each j the tightest i has the least `i - rate * x_i`. The check only keeps how far j is above
 * that minimum, like the level of a bucket: one pass, constant memory, and no large numbers.
 */
export class GuaranteeCheck {
  readonly #course: RateCourse;
  readonly #burst: number;
  #count = 0;
  #firstUs = 0;
  #lastUs = 0;
  /** `index - tokens` of the last admission, minus its minimum so far. */
  #level = 0;
  /** The rounding error of the level: Kahan's compensated sum. */
  #lost = 0;
  #highestLevel = Number.NEGATIVE_INFINITY;
  // Of equally tight intervals, as in a perfect schedule, report the longest. The start moves only
  // for a difference above the tolerance, the end for any difference above minus the tolerance.
  #start: Place = { us: 0, index: 0 };
  #levelFromStart = 0;
  #tightStart = this.#start;
  #tightEndUs = 0;
  #tightEndIndex = 0;

  /** @param course may gain changes during the check, but only after the instants checked so far */
  constructor(course: RateCourse, burst: number) {
    this.#course = course;
    this.#burst = burst;
  }

  /** @param instants microseconds in ascending order */
  add(instants: Float64Array): void {
    if (instants.length === 0) return;
    if (this.#count === 0) this.#begin(instants[0] as number); // not empty
    const tolerance = this.#tolerance(instants.at(-1) as number, this.#count + instants.length);
    for (const instant of instants) this.#addOne(instant, tolerance);
  }

  #begin(firstUs: number): void {
    this.#firstUs = firstUs;
    this.#lastUs = firstUs;
    this.#start = { us: firstUs, index: 0 };
    // The first admission is not above any other.
    this.#level = -1;
    this.#levelFromStart = -1;
  }

  #addOne(instant: number, tolerance: number): void {
    if (!(instant >= this.#lastUs)) {
      throw new RangeError(
        `instants must be in ascending order: ${instant} follows ${this.#lastUs}`,
      );
    }
    // Instants of one clock are multiples of the same power of two, so their difference is exact.
    const step = 1 - this.#course.mostTokens(this.#lastUs, instant);
    this.#lastUs = instant;
    this.#climb(step);
    this.#levelFromStart += step;
    if (this.#levelFromStart < -tolerance) {
      this.#levelFromStart = 0;
      this.#start = { us: instant, index: this.#count };
    }
    if (this.#level >= this.#highestLevel - tolerance) {
      this.#tightStart = this.#start;
      this.#tightEndUs = instant;
      this.#tightEndIndex = this.#count;
    }
    if (this.#level > this.#highestLevel) this.#highestLevel = this.#level;
    this.#count += 1;
  }

  #climb(step: number): void {
    const corrected = step + this.#lost;
    const level = this.#level + corrected;
    if (level > 0) {
      this.#lost = corrected - (level - this.#level);
      this.#level = level;
    } else {
      this.#lost = 0;
      this.#level = 0;
    }
  }

  /** The verdict on the admissions so far. */
  get verdict(): Guarantee {
    if (this.#count === 0) {
      return { held: true, intervals: 0, tightest: null, toleranceInTokens: 0 };
    }
    const { us: fromUs, index } = this.#tightStart;
    const tolerance = this.#tolerance(this.#lastUs, this.#count);
    return {
      held: this.#highestLevel + 1 - this.#burst <= tolerance,
      intervals: (this.#count * (this.#count + 1)) / 2,
      tightest: {
        lengthMs: (this.#tightEndUs - fromUs) / 1_000,
        startsAfterMs: (fromUs - this.#firstUs) / 1_000,
        admitted: this.#tightEndIndex - index + 1,
        allowed: this.#burst + this.#course.mostTokens(fromUs, this.#tightEndUs),
      },
      toleranceInTokens: tolerance,
    };
  }

  #tolerance(latestUs: number, count: number): number {
    const { range, blur, changes } = this.#course;
    const [, highest] = range;
    return toleranceInTokens(latestUs, count + changes, highest / 1e6, this.#burst) + blur;
  }
}

/**
 * Checks a whole log.
 *
 * @param instants microseconds in ascending order
 * @param rate tokens per second
 */
export function checkGuarantee(
  instants: Float64Array,
  rate: number | RateCourse,
  burst: number,
): Guarantee {
  const course = typeof rate === 'number' ? new RateCourse(instants[0] ?? 0, rate) : rate;
  const check = new GuaranteeCheck(course, burst);
  check.add(instants);
  return check.verdict;
}
