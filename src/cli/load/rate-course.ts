/** How many tokens flow, as the guarantee counts them. */
export interface Flow {
  /** Between two instants, in microseconds. */
  tokens(fromUs: number, toUs: number): number;
  /** The highest rate, in tokens per second. */
  readonly highest: number;
  /** By how many tokens an interval may hold more, because it is not known to the instant when rates changed. */
  readonly blur: number;
}

/** The same rate all the time. */
export function steadyFlow(rate: number): Flow {
  const ratePerUs = rate / 1e6;
  return { tokens: (fromUs, toUs) => ratePerUs * (toUs - fromUs), highest: rate, blur: 0 };
}

interface Stretch {
  readonly sinceUs: number;
  readonly rate: number;
  /** Tokens from the first stretch's start on. */
  readonly flowed: number;
}

/** The rate over the time of a run, each for as long as it was in force. */
export class RateCourse implements Flow {
  readonly #stretches: [Stretch, ...Stretch[]];
  #latest: Stretch;
  #highest: number;
  #blur = 0;

  constructor(startUs: number, rate: number) {
    this.#latest = { sinceUs: startUs, rate, flowed: 0 };
    this.#stretches = [this.#latest];
    this.#highest = rate;
  }

  /** The rate in force. */
  get rate(): number {
    return this.#latest.rate;
  }

  get highest(): number {
    return this.#highest;
  }

  /** An interval begins within one change at most, and then may hold what it brought meanwhile. */
  get blur(): number {
    return this.#blur;
  }

  /** Whether the rate was ever changed. */
  get isSteady(): boolean {
    return this.#stretches.length === 1;
  }

  /** The lowest and the highest rate so far. */
  get range(): readonly [number, number] {
    return [Math.min(...this.#stretches.map(({ rate }) => rate)), this.#highest];
  }

  /** Notes a change that came into force between two readings of the clock: meanwhile the higher rate counts. */
  change(rate: number, beforeUs: number, afterUs: number): void {
    const changeUs = Math.max(rate > this.rate ? beforeUs : afterUs, this.#latest.sinceUs);
    this.#blur = Math.max(this.#blur, (Math.abs(rate - this.rate) * (afterUs - beforeUs)) / 1e6);
    this.#latest = { sinceUs: changeUs, rate, flowed: this.#flowed(changeUs) };
    this.#stretches.push(this.#latest);
    this.#highest = Math.max(this.#highest, rate);
  }

  tokens(fromUs: number, toUs: number): number {
    return this.#flowed(toUs) - this.#flowed(fromUs);
  }

  #flowed(us: number): number {
    // Most questions are about the latest stretches.
    const stretch = this.#stretches.findLast(({ sinceUs }) => sinceUs <= us) ?? this.#stretches[0];
    return stretch.flowed + (stretch.rate / 1e6) * (us - stretch.sinceUs);
  }
}
