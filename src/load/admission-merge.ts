/** Minimum span of a released batch, so that each instant is sorted and copied only once. */
const BATCH_US = 100_000;

/**
 * Merges the admissions of running threads into one ascending stream. An instant is held until
 * every thread has reported past it, so memory depends on the reporting interval, not on the length
 * of the run.
 */
export class AdmissionMerge {
  /** Per thread: no further instant is earlier than this. */
  readonly #throughUs: number[];
  readonly #onMerged: (instants: Float64Array) => void;
  #held: Float64Array[] = [];
  /** Rate changes since the latest released instant. */
  #changes: { readonly beforeUs: number; readonly afterUs: number }[] = [];
  #releasedUs = Number.NEGATIVE_INFINITY;

  /** @param onMerged receives all instants in ascending order, in batches */
  constructor(threads: number, onMerged: (instants: Float64Array) => void) {
    this.#throughUs = new Array<number>(threads).fill(Number.NEGATIVE_INFINITY);
    this.#onMerged = onMerged;
  }

  /**
   * Records a rate change between two instants. A `throughUs` reported in between no longer holds:
   * a later request may have moved to any instant from `beforeUs` on.
   */
  change(beforeUs: number, afterUs: number): void {
    this.#changes.push({ beforeUs, afterUs });
  }

  /**
   * @param thread the thread's index
   * @param throughUs no further instant of the thread is earlier; infinite once it has ended
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
    // If the clock of a fleet's server steps back, an instant may precede released ones. It then
    // counts as simultaneous with the latest of them.
    const fromUs = this.#releasedUs;
    this.#releasedUs = untilUs;
    this.#changes = this.#changes.filter(({ afterUs }) => afterUs > untilUs);
    this.#onMerged(Float64Array.from(released, (us) => Math.max(us, fromUs)).sort());
  }
}
