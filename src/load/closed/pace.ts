/** Time of a batch of short calls, long enough to make the cost of its clock reading negligible. */
const BATCH_US = 25;
/** The clock costs a few percent of a call that takes this long, which is then timed by itself. */
const SINGLE_US = 1;
/**
 * If calls suddenly take long, the batch in progress still makes all of its calls: so few that a
 * round ends about on time.
 */
const MOST_CALLS = 1_024;

/** The calls between two clock readings. */
export interface Batch {
  readonly us: number;
  readonly calls: number;
}

/**
 * Decides how many calls to make between two clock readings: one if calls take a microsecond or
 * longer, otherwise as many as take 25 us. A mean would hide a long call, so a batch that takes 25 us
 * more than the one before counts as calls of the usual time and one long call. Single calls follow.
 */
export class Pace {
  #calls = 1;
  readonly #most: number;
  /** Mean time of a call in the last batch without a long one. */
  #usualUs = 0;

  constructor(most = MOST_CALLS) {
    this.#most = most;
  }

  get calls(): number {
    return this.#calls;
  }

  /** The time of the batch's longest call; 0 if none stands out. Exact to 25 us, or of one call. */
  take({ us, calls }: Batch): number {
    const othersUs = calls === 1 ? 0 : this.#usualUs * (calls - 1);
    const longestUs = us - othersUs;
    if (calls > 1 && longestUs > this.#usualUs + BATCH_US) {
      this.#calls = 1;
      return longestUs;
    }
    this.#usualUs = us / calls;
    if (this.#usualUs >= SINGLE_US) this.#calls = 1;
    else if (us < BATCH_US) this.#calls = Math.min(this.#most, this.#calls * 2);
    return calls === 1 ? us : 0;
  }
}
