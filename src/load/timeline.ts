import { FIRST_SLOT_US, MOST_SLOTS, widerSlot } from './slot-width.ts';

/** The number of events per time slot. Slots widen as time passes. */
export class Timeline {
  readonly #counts = new Float64Array(MOST_SLOTS);
  #slotUs = FIRST_SLOT_US;
  #used = 0;

  /** Length of a slot in microseconds. */
  get slotUs(): number {
    return this.#slotUs;
  }

  /** One count per slot, from instant 0 to the slot of the last event. */
  get counts(): readonly number[] {
    return [...this.#counts.subarray(0, this.#used)];
  }

  /** @param atUs at least 0 */
  add(atUs: number): void {
    while (atUs >= MOST_SLOTS * this.#slotUs) this.widenTo(widerSlot(this.#slotUs));
    const slot = Math.floor(atUs / this.#slotUs);
    this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
    if (slot >= this.#used) this.#used = slot + 1;
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
