// The limits of Netflix's concurrency-limits, from their published rules and defaults, to compare
// with: `Gradient2Limit` behind `WindowedLimit`, as its documentation describes it; `VegasLimit`,
// the default of its limiters, and `AIMDLimit`, which both judge each call.
// https://github.com/Netflix/concurrency-limits, concurrency-limits-core

/** A call that has ended. */
export interface EndedCall {
  readonly atMs: number;
  readonly latencyMs: number;
  /** Calls in flight: there when it began, here when it ended. */
  readonly inFlight: number;
  readonly isDropped: boolean;
}

/** A number of calls in flight that follows them. */
export interface Limit {
  readonly number: number;
  ended(call: EndedCall): void;
}

const INITIAL = 20;
const WINDOW_MS = 1000;
const LEAST_CALLS = 10;

/** Moves towards the ratio of the long-term average latency to the last second's. */
export class Gradient2 implements Limit {
  number = INITIAL;
  readonly #most: number;
  #long = 0;
  #windows = 0;
  #window = { count: 0, sumMs: 0, mostInFlight: 0 };
  #closesMs = 0;

  /** The default least number of 20 would be far above a small server's: here it is 1. */
  constructor(most = 500) {
    this.#most = most;
  }

  ended({ atMs, latencyMs, inFlight }: EndedCall): void {
    const { count, sumMs, mostInFlight } = this.#window;
    this.#window = {
      ...{ count: count + 1, sumMs: sumMs + latencyMs },
      mostInFlight: Math.max(mostInFlight, inFlight),
    };
    if (atMs <= this.#closesMs) return;
    this.#closesMs = atMs + WINDOW_MS;
    const closed = this.#window;
    this.#window = { count: 0, sumMs: 0, mostInFlight: 0 };
    if (closed.count >= LEAST_CALLS) this.#move(closed.sumMs / closed.count, closed.mostInFlight);
  }

  #move(short: number, inFlight: number): void {
    this.#windows++;
    // A plain average of 10 windows, then an exponential one over 600.
    const share = this.#windows <= 10 ? 1 / this.#windows : 2 / 601;
    this.#long += share * (short - this.#long);
    const long = this.#long;
    if (long > 2 * short) this.#long *= 0.9;
    if (inFlight < this.number / 2) return;
    const gradient = Math.min(1, Math.max(0.5, long / short));
    const wanted = this.number * gradient + 4;
    this.number = Math.min(this.#most, Math.max(1, this.number + 0.2 * (wanted - this.number)));
  }
}

/** Keeps the queue between 3 and 6 times the logarithm of the number. */
export class Vegas implements Limit {
  number = INITIAL;
  readonly #random: () => number;
  readonly #most: number;
  #least = 0;
  #sinceProbe = 0;
  #probeShare: number;

  /** @param random from 0 to 1, for the instants of its probes */
  constructor(random: () => number, most = 500) {
    this.#random = random;
    this.#most = most;
    this.#probeShare = 0.5 + random() / 2;
  }

  ended({ latencyMs, inFlight, isDropped }: EndedCall): void {
    const { number } = this;
    this.#sinceProbe++;
    if (this.#sinceProbe >= this.#probeShare * 30 * number) {
      this.#probeShare = 0.5 + this.#random() / 2;
      this.#sinceProbe = 0;
      this.#least = latencyMs;
      return;
    }
    if (this.#least === 0 || latencyMs < this.#least) {
      this.#least = latencyMs;
      return;
    }
    const step = Math.max(1, Math.floor(Math.log10(Math.floor(number))));
    const queue = Math.ceil(number * (1 - this.#least / latencyMs));
    let change = 0;
    if (isDropped) change = -step;
    else if (2 * inFlight < number) return;
    else if (queue <= step) change = 6 * step;
    else if (queue < 3 * step) change = step;
    else if (queue > 6 * step) change = -step;
    this.number = Math.min(this.#most, Math.max(1, number + change));
  }
}

/** One more with each call, unless it was dropped or took 5 s: then a tenth less. */
export class Aimd implements Limit {
  number = 10;
  readonly #most: number;

  /** Without a bound, it grows for as long as nothing is dropped. */
  constructor(most = 500) {
    this.#most = most;
  }

  ended({ latencyMs, inFlight, isDropped }: EndedCall): void {
    const { number } = this;
    if (isDropped || latencyMs > 5000) {
      this.number = Math.max(1, Math.min(number - 1, Math.floor(number * 0.9)));
    } else if (2 * inFlight >= number) {
      this.number = Math.min(this.#most, number + 1);
    }
  }
}
