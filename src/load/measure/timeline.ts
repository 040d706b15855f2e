/** The finest time slot: a millisecond. */
export const FIRST_SLOT_US = 1_000;
/** Above this number slots are merged: a chart can't show more, and memory stays bounded. */
export const MOST_SLOTS = 400;

/** The next wider slot, a multiple of this one: 1, 2, 10, 20, 100 and so on. */
export function widerSlot(slotUs: number): number {
  const isPowerOfTen = Number.isInteger(Math.log10(slotUs));
  return slotUs * (isPowerOfTen ? 2 : 5);
}

/** A {@link Timeline} as plain data. */
export interface TimelineRecord {
  readonly slotUs: number;
  /** One count per slot. */
  readonly counts: readonly number[];
}

/** Counts events per time slot. Slots widen as the run gets longer. */
export class Timeline {
  readonly #counts = new Float64Array(MOST_SLOTS);
  #slotUs = FIRST_SLOT_US;
  #used = 0;

  /** Length of a slot in microseconds. */
  get slotUs(): number {
    return this.#slotUs;
  }

  /** One count per slot, from 0 to the slot of the last event. */
  get counts(): readonly number[] {
    return [...this.#counts.subarray(0, this.#used)];
  }

  /** @param atUs at least 0 */
  add(atUs: number, count = 1): void {
    while (atUs >= MOST_SLOTS * this.#slotUs) this.widenTo(widerSlot(this.#slotUs));
    const slot = Math.floor(atUs / this.#slotUs);
    this.#counts[slot] = (this.#counts[slot] ?? 0) + count;
    if (slot >= this.#used) this.#used = slot + 1;
  }

  toRecord(): TimelineRecord {
    return { slotUs: this.#slotUs, counts: this.counts };
  }

  /** Adds the events of another thread. */
  addAll({ slotUs, counts }: TimelineRecord): void {
    this.widenTo(slotUs);
    counts.forEach((count, slot) => {
      if (count > 0) this.add(slot * slotUs, count);
    });
  }

  /** Merges slots up to this width, to match another timeline. */
  widenTo(slotUs: number): void {
    while (this.#slotUs < slotUs) {
      const wider = widerSlot(this.#slotUs);
      const joined = wider / this.#slotUs;
      for (let slot = 0; slot < this.#used; slot += 1) {
        const count = this.#counts[slot] ?? 0;
        this.#counts[slot] = 0;
        const into = Math.floor(slot / joined);
        this.#counts[into] = (this.#counts[into] ?? 0) + count;
      }
      this.#used = Math.ceil(this.#used / joined);
      this.#slotUs = wider;
    }
  }
}
