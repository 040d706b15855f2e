/** The limiter's tick is 1/S us. The difference between S and 4096 does not matter here. */
export const TICK_US = 1 / 4096;

/** A rate that changes evenly, then stays constant. */
export interface RateRamp {
  /** Initial rate, per second. */
  readonly from: number;
  /** Final rate, per second. */
  readonly to: number;
  /** Duration of the change, in milliseconds. */
  readonly overMs: number;
}

/** A rate, and the instant from which it applies. */
interface Stretch {
  readonly sinceUs: number;
  readonly rate: number;
  /** How fast the rate changes, per microsecond; 0 but in a ramp. */
  readonly slope: number;
}

/** The rates of a run over time: a ramp, or steady rates that change at once. */
export class RateCourse {
  readonly #stretches: [Stretch, ...Stretch[]];
  #latest: Stretch;
  #blur = 0;
  /** The stretch of the last query. The next query usually needs the same or the following one. */
  #at = 0;

  /** @param ramp from `startUs` on; the rate before is its first */
  constructor(startUs: number, rate: number, ramp?: RateRamp) {
    this.#latest = { sinceUs: startUs, rate: ramp?.from ?? rate, slope: 0 };
    this.#stretches = [this.#latest];
    if (ramp !== undefined) {
      const { from, to, overMs } = ramp;
      const overUs = overMs * 1_000;
      this.#latest = { sinceUs: startUs + overUs, rate: to, slope: 0 };
      this.#stretches.push({ sinceUs: startUs, rate: from, slope: (to - from) / overUs });
      this.#stretches.push(this.#latest);
    }
  }

  /** The current rate; the final one of a ramp. */
  get rate(): number {
    return this.#latest.rate;
  }

  /** The rate at an instant. */
  rateAt(us: number): number {
    const stretch = this.#stretches.findLast(({ sinceUs }) => sinceUs <= us);
    return rateIn(stretch ?? this.#stretches[0], us);
  }

  /**
   * Extra tokens allowed in an interval, because the instants of rate changes are not known
   * exactly. At most one change overlaps the start of an interval, so the largest uncertainty is
   * enough.
   */
  get blur(): number {
    return this.#blur;
  }

  /** The number of rate changes. */
  get changes(): number {
    return this.#stretches.length - 1;
  }

  /** Whether the rate never changed. */
  get isSteady(): boolean {
    return this.changes === 0;
  }

  /** The lowest and the highest rate so far. */
  get range(): readonly [number, number] {
    const rates = this.#stretches.map((stretch) => stretch.rate);
    return [Math.min(...rates), Math.max(...rates)];
  }

  /** Records a change between two clock readings. The higher rate is assumed in between. */
  change(rate: number, beforeUs: number, afterUs: number): void {
    const changeUs = Math.max(rate > this.rate ? beforeUs : afterUs, this.#latest.sinceUs);
    this.#blur = Math.max(this.#blur, (Math.abs(rate - this.rate) * (afterUs - beforeUs)) / 1e6);
    this.#latest = { sinceUs: changeUs, rate, slope: 0 };
    this.#stretches.push(this.#latest);
  }

  /**
   * Tokens that arrive between two instants in microseconds. Queries in order of time take constant
   * time each, plus the changes that they pass.
   */
  tokens(fromUs: number, toUs: number): number {
    return this.#tokens(fromUs, toUs, 0);
  }

  /** The instant at which this many tokens have arrived since `fromUs`. */
  instantOf(tokens: number, fromUs: number): number {
    let us = fromUs;
    let left = tokens;
    let [stretch] = this.#stretches;
    for (const next of this.#stretches) {
      if (next.sinceUs > us) {
        const brought = tokensIn(stretch, us, next.sinceUs);
        if (left <= brought) break;
        left -= brought;
        us = next.sinceUs;
      }
      stretch = next;
    }
    return us + timeOf(left, stretch, us);
  }

  /**
   * An upper bound on the tokens that a limiter adds between two instants: at each change it rounds
   * to its ticks.
   */
  mostTokens(fromUs: number, toUs: number): number {
    return this.#tokens(fromUs, toUs, TICK_US);
  }

  #tokens(fromUs: number, toUs: number, extraUs: number): number {
    const stretches = this.#stretches;
    let at = this.#at;
    // The first rate also applies before the first stretch.
    while (at > 0 && fromUs < (stretches[at] as Stretch).sinceUs) at -= 1; // in bounds
    // A difference of running totals would be too imprecise to check the guarantee.
    let sum = 0;
    let us = fromUs;
    let stretch = stretches[at] ?? this.#latest;
    for (;;) {
      const next = stretches[at + 1];
      if (next === undefined || next.sinceUs > toUs) break;
      if (next.sinceUs > us) {
        sum += tokensIn(stretch, us, next.sinceUs);
        us = next.sinceUs;
      }
      if (next.sinceUs > fromUs) sum += (Math.max(stretch.rate, next.rate) / 1e6) * extraUs;
      stretch = next;
      at += 1;
    }
    this.#at = at;
    return sum + tokensIn(stretch, us, toUs);
  }
}

function rateIn({ sinceUs, rate, slope }: Stretch, us: number): number {
  return slope === 0 ? rate : rate + slope * (us - sinceUs);
}

function tokensIn(stretch: Stretch, fromUs: number, toUs: number): number {
  const mean = stretch.slope === 0 ? stretch.rate : rateIn(stretch, (fromUs + toUs) / 2);
  return (mean / 1e6) * (toUs - fromUs);
}

/** How long a stretch takes from an instant on to bring `tokens`. */
function timeOf(tokens: number, stretch: Stretch, fromUs: number): number {
  const from = rateIn(stretch, fromUs);
  // The quadratic formula in the form without cancellation.
  const square = from * from + 2e6 * stretch.slope * tokens;
  return (2e6 * tokens) / (from + Math.sqrt(Math.max(0, square)));
}
