/** The length of a slot. */
export const SLOT_US = 1e5;
/** How many slots are shown: half a minute. */
const SHOWN = 300;

/** Counts by slot, from the start of a run; only the last ones are kept. */
export class Timeline {
  readonly #counts = new Map<number, number>();

  add(slot: number, count: number): void {
    this.#counts.set(slot, (this.#counts.get(slot) ?? 0) + count);
  }

  /** Keeps the first value, that of the slot's start. */
  set(slot: number, value: number): void {
    if (!this.#counts.has(slot)) this.#counts.set(slot, value);
  }

  /** The values of these slots; `missing` where there is none. */
  values<Missing>(slots: readonly number[], missing: Missing): (number | Missing)[] {
    const [first = 0] = slots;
    for (const slot of this.#counts.keys()) {
      if (slot < first) this.#counts.delete(slot);
    }
    return slots.map((slot) => this.#counts.get(slot) ?? missing);
  }
}

/** The slots that are over by `elapsedUs`, at most half a minute. */
export function slotsUntil(elapsedUs: number): number[] {
  const end = Math.max(0, Math.floor(elapsedUs / SLOT_US));
  const begin = Math.max(0, end - SHOWN);
  return Array.from({ length: end - begin }, (_, index) => begin + index);
}
