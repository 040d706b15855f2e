const SLOT_US = 100_000;
/** How late the reports of a thread may be. */
const SETTLE_SLOTS = 5;
/** The rate is a mean over this many slots: one second. */
const WINDOW_SLOTS = 10;

/** The rate of admissions about now, from logs that arrive late and in pieces. */
export class RateMeter {
  readonly #startUs: number;
  readonly #counts: number[] = [];
  #admitted = 0;

  constructor(startUs: number) {
    this.#startUs = startUs;
  }

  /** All that has been reported. */
  get admitted(): number {
    return this.#admitted;
  }

  add(admissions: Float64Array): void {
    for (const instant of admissions) {
      const slot = Math.max(0, Math.floor((instant - this.#startUs) / SLOT_US));
      this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
    }
    this.#admitted += admissions.length;
  }

  /**
   * Admissions per second over the latest second that all threads have reported by `nowUs`, or
   * over what there is of it; undefined as long as there is nothing.
   */
  rateAt(nowUs: number): number | undefined {
    const end = Math.floor((nowUs - this.#startUs) / SLOT_US) - SETTLE_SLOTS;
    const begin = Math.max(0, end - WINDOW_SLOTS);
    if (end <= begin) return undefined;
    let sum = 0;
    for (let slot = begin; slot < end; slot += 1) sum += this.#counts[slot] ?? 0;
    return sum / (((end - begin) * SLOT_US) / 1e6);
  }
}
