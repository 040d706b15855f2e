/** Calls between two readings of the clock take about this long, so that it costs next to nothing. */
const LOOK_US = 25;
const MOST_BETWEEN = 65_536;

/** How many calls to make between two readings of the clock: one, if a call takes long. */
export class Pace {
  #calls = 1;

  get calls(): number {
    return this.#calls;
  }

  /** @param us how long the last calls took together */
  adapt(us: number): void {
    if (us < LOOK_US) this.#calls = Math.min(MOST_BETWEEN, this.#calls * 2);
    else if (us > 4 * LOOK_US) this.#calls = Math.max(1, this.#calls >>> 1);
  }
}
