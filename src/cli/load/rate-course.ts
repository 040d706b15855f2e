/** The number of tokens that flow in, as used by the guarantee. */
export interface Flow {
  /** Tokens between two instants in microseconds. */
  tokens(fromUs: number, toUs: number): number;
  /** The highest rate, in tokens per second. */
  readonly highest: number;
  /**
   * Extra tokens allowed in an interval, because the instants of rate changes are not known
   * exactly.
   */
  readonly blur: number;
}

/** A constant rate. */
export function steadyFlow(rate: number): Flow {
  const ratePerUs = rate / 1e6;
  return { tokens: (fromUs, toUs) => ratePerUs * (toUs - fromUs), highest: rate, blur: 0 };
}

interface Stretch {
  readonly sinceUs: number;
  readonly rate: number;
  /** Tokens since the start of the first stretch. */
  readonly flowed: number;
}

/** The rates of a run and the times at which they applied. */
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

  /** The current rate. */
  get rate(): number {
    return this.#latest.rate;
  }

  get highest(): number {
    return this.#highest;
  }

  /** An interval can start within at most one change, so the largest uncertainty is enough. */
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

  /** Records a change between two clock readings. In between, the higher rate is assumed. */
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
    // Most queries are about the latest stretches.
    const stretch = this.#stretches.findLast(({ sinceUs }) => sinceUs <= us) ?? this.#stretches[0];
    return stretch.flowed + (stretch.rate / 1e6) * (us - stretch.sinceUs);
  }
}
