import { SlotValues } from '../load/measure/timeline.ts';

/** A value over time: the latest of each slot. */
export class LatestByTime extends SlotValues {
  #latest: number;

  /** @param first the value at the start */
  constructor(first: number) {
    super();
    this.#latest = first;
  }

  protected join(values: Float64Array): number {
    return values.at(-1) ?? 0;
  }

  /** Notes the value at an instant. Instants must be ascending. */
  set(atUs: number, value: number): void {
    const slot = this.slotAt(atUs);
    // Slots without a change keep the value before them.
    while (this.used < slot) this.values[this.used++] = this.#latest;
    this.values[slot] = value;
    this.used = slot + 1;
    this.#latest = value;
  }

  /** The end of each slot in seconds, and its value. */
  points(): readonly (readonly [endSeconds: number, value: number])[] {
    return Array.from(
      this.values.subarray(0, this.used),
      (value, slot) => [((slot + 1) * this.slotUs) / 1e6, value] as const,
    );
  }
}
