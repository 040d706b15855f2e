/** Instants are released in batches of at least this length, to sort and copy each only once. */
const BATCH_US = 100_000;

/**
 * Merges the admissions of several threads in the order of their instants, while the threads run.
 * An instant is held until every thread has said that all of its later ones follow it, so memory
 * depends on how often they report and not on the length of the run.
 */
export class AdmissionMerge {
  /** All further instants of each thread are at or after this one. */
  readonly #throughUs: number[];
  readonly #onMerged: (instants: Float64Array) => void;
  #held: Float64Array[] = [];
  /** The changes since the latest instant released. */
  #changes: { readonly beforeUs: number; readonly afterUs: number }[] = [];
  #releasedUs = Number.NEGATIVE_INFINITY;

  /** @param onMerged receives all instants in ascending order, in pieces */
  constructor(threads: number, onMerged: (instants: Float64Array) => void) {
    this.#throughUs = new Array<number>(threads).fill(Number.NEGATIVE_INFINITY);
    this.#onMerged = onMerged;
  }

  /**
   * Notes a change of the rate between two instants. What a thread promised in between does not
   * hold: a request due later may have moved to any instant from `beforeUs` on.
   */
  change(beforeUs: number, afterUs: number): void {
    this.#changes.push({ beforeUs, afterUs });
  }

  /**
   * @param thread its index
   * @param throughUs all its further instants are at or after this one; infinite at its end
   */
  add(thread: number, instants: Float64Array, throughUs: number): void {
    if (instants.length > 0) this.#held.push(instants);
    const change = this.#changes.find((at) => at.beforeUs < throughUs && throughUs <= at.afterUs);
    this.#throughUs[thread] = change?.beforeUs ?? throughUs;
    const untilUs = this.#throughUs.reduce((least, us) => Math.min(least, us));
    if (untilUs >= this.#releasedUs + BATCH_US) this.#release(untilUs);
  }

  #release(untilUs: number): void {
    const released: number[] = [];
    this.#held = this.#held.flatMap((instants) => {
      const kept: number[] = [];
      for (const instant of instants) (instant < untilUs ? released : kept).push(instant);
      return kept.length === 0 ? [] : [Float64Array.from(kept)];
    });
    // If the clock of a fleet's server steps back, an instant may precede those already released:
    // it counts together with the latest of them.
    const fromUs = this.#releasedUs;
    this.#releasedUs = untilUs;
    this.#changes = this.#changes.filter(({ afterUs }) => afterUs > untilUs);
    this.#onMerged(Float64Array.from(released, (us) => Math.max(us, fromUs)).sort());
  }
}
