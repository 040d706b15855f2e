/** How a gauge reads its times, which only grow, and computes the use between two readings. */
export interface Measure<Times, Use> {
  read(): Times;
  lengthMs(from: Times, to: Times): number;
  use(from: Times, to: Times): Use;
}

/** Measures the use of something: since it began to, and over the last window. */
export class WindowedGauge<Times, Use> {
  readonly #measure: Measure<Times, Use>;
  readonly #windowMs: number;
  #begin: Times;
  #window: Times;
  #latest: Use;

  /** @param latest the use before the end of the first window */
  constructor(measure: Measure<Times, Use>, windowMs: number, latest: Use) {
    this.#measure = measure;
    this.#windowMs = windowMs;
    this.#begin = measure.read();
    this.#window = this.#begin;
    this.#latest = latest;
  }

  /** Restarts the measurement. */
  begin(): void {
    this.#begin = this.#measure.read();
    this.#window = this.#begin;
  }

  /** The use since {@link WindowedGauge.begin}. */
  get use(): Use {
    return this.#measure.use(this.#begin, this.#measure.read());
  }

  /** The use over the last complete window. */
  get recent(): Use {
    const now = this.#measure.read();
    if (this.#measure.lengthMs(this.#window, now) >= this.#windowMs) {
      this.#latest = this.#measure.use(this.#window, now);
      this.#window = now;
    }
    return this.#latest;
  }
}
