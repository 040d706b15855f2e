/** Target time between two clock readings: long enough to make their cost negligible. */
const LOOK_US = 25;
const MOST_BETWEEN = 65_536;

/** Decides how many calls to make between two clock readings: one if calls are long. */
export class Pace {
  #calls = 1;

  get calls(): number {
    return this.#calls;
  }

  /** @param us total time of the last calls */
  adapt(us: number): void {
    if (us < LOOK_US) this.#calls = Math.min(MOST_BETWEEN, this.#calls * 2);
    else if (us > 4 * LOOK_US) this.#calls = Math.max(1, this.#calls >>> 1);
  }
}
