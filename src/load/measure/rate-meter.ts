const SLOT_US = 100_000;
/** Maximum delay of a thread's reports. */
const SETTLE_SLOTS = 5;
/** The rate is averaged over this many slots: one second. */
const WINDOW_SLOTS = 10;

/** Measures the current rate of admissions from logs that arrive late and in pieces. */
export class RateMeter {
  readonly #startUs: number;
  readonly #counts: number[] = [];
  #admitted = 0;

  constructor(startUs: number) {
    this.#startUs = startUs;
  }

  /** The number of admissions reported so far. */
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

  /** The counts of all 100 ms slots that start before `endUs`. */
  countsUntil(endUs: number): number[] {
    const slots = Math.max(0, Math.ceil((endUs - this.#startUs) / SLOT_US));
    return Array.from({ length: slots }, (_, slot) => this.#counts[slot] ?? 0);
  }

  /**
   * Admissions per second over the latest second for which all threads have reported by `nowUs`.
   * Covers less at the start of a run; undefined before the first report.
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
