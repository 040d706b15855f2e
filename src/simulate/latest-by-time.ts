import { FIRST_SLOT_US, MOST_SLOTS, widerSlot } from '../load/measure/timeline.ts';

/** A value over time: the latest of each slot. Slots widen as the run gets longer. */
export class LatestByTime {
  readonly #values = new Float64Array(MOST_SLOTS);
  #slotUs = FIRST_SLOT_US;
  #used = 0;
  #latest: number;

  /** @param first the value at the start */
  constructor(first: number) {
    this.#latest = first;
  }

  /** Notes the value at an instant. Instants must be ascending. */
  set(atUs: number, value: number): void {
    while (atUs >= MOST_SLOTS * this.#slotUs) this.#widen();
    const slot = Math.floor(atUs / this.#slotUs);
    // Slots without a change keep the value before them.
    while (this.#used < slot) this.#values[this.#used++] = this.#latest;
    this.#values[slot] = value;
    this.#used = slot + 1;
    this.#latest = value;
  }

  #widen(): void {
    const wider = widerSlot(this.#slotUs);
    const joined = wider / this.#slotUs;
    const used = Math.ceil(this.#used / joined);
    for (let slot = 0; slot < used; slot++) {
      const last = Math.min(this.#used, (slot + 1) * joined) - 1;
      this.#values[slot] = this.#values[last] ?? 0;
    }
    this.#used = used;
    this.#slotUs = wider;
  }

  /** The end of each slot in seconds, and its value. */
  points(): readonly (readonly [endSeconds: number, value: number])[] {
    return Array.from(
      { length: this.#used },
      (_, slot) => [((slot + 1) * this.#slotUs) / 1e6, this.#values[slot] ?? 0] as const,
    );
  }
}
