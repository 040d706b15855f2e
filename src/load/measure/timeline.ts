/** The finest time slot: a millisecond. */
const FIRST_SLOT_US = 1_000;
/** Above this number slots are merged: a chart can't show more, and memory stays bounded. */
export const MOST_SLOTS = 400;

/** The next wider slot, a multiple of this one: 1, 2, 10, 20, 100 and so on. */
export function widerSlot(slotUs: number): number {
  const isPowerOfTen = Number.isInteger(Math.log10(slotUs));
  return slotUs * (isPowerOfTen ? 2 : 5);
}

/** The sums of each `size` counts, without a rest. */
export function sumsOf(counts: readonly number[], size: number): number[] {
  return Array.from({ length: Math.floor(counts.length / size) }, (_, at) =>
    counts.slice(at * size, (at + 1) * size).reduce((sum, count) => sum + count, 0),
  );
}

/** Values by time slot, as plain data. */
export interface SlotRecord<Value> {
  readonly slotUs: number;
  /** By slot. A slot without a value may be a hole. */
  readonly values: readonly (Value | undefined)[];
}

/**
 * A value per time slot. Slots widen as the run gets longer.
 *
 * @typeParam Data a value as it is sent between threads
 */
export abstract class SlotValues<Value, Data = Value> {
  /** By slot. A slot without a value may be a hole. */
  protected values: (Value | undefined)[] = [];
  #slotUs = FIRST_SLOT_US;

  protected abstract dataOf(value: Value): Data;

  /** The value of a slot, if it has one, with one that is later or of another thread. */
  protected abstract joined(value: Value | undefined, other: Data): Value;

  /** Length of a slot in microseconds. */
  get slotUs(): number {
    return this.#slotUs;
  }

  /** The slot of an instant, which is at least 0. */
  protected slotAt(atUs: number): number {
    let wide = this.#slotUs;
    while (atUs >= MOST_SLOTS * wide) wide = widerSlot(wide);
    this.widenTo(wide);
    return Math.floor(atUs / wide);
  }

  /** Joins slots up to this width, to match those of others. */
  widenTo(slotUs: number): void {
    if (this.#slotUs >= slotUs) return;
    const record = this.toRecord();
    this.#slotUs = slotUs;
    this.values = [];
    this.addAll(record);
  }

  toRecord(): SlotRecord<Data> {
    const values = this.values.map((value) =>
      value === undefined ? undefined : this.dataOf(value),
    );
    return { slotUs: this.#slotUs, values };
  }

  /** Adds the values of another thread. */
  addAll({ slotUs, values }: SlotRecord<Data>): void {
    this.widenTo(slotUs);
    for (const [from, data] of values.entries()) {
      if (data === undefined) continue;
      const slot = this.slotAt(from * slotUs);
      this.values[slot] = this.joined(this.values[slot], data);
    }
  }
}

/** Counts events per time slot. */
export class Timeline extends SlotValues<number> {
  protected dataOf(count: number): number {
    return count;
  }

  protected joined(count = 0, more = 0): number {
    return count + more;
  }

  /** One count per slot, from 0 to the slot of the last event. */
  get counts(): readonly number[] {
    return Array.from(this.values, (count = 0) => count);
  }

  /** @param atUs at least 0 */
  add(atUs: number, count = 1): void {
    const slot = this.slotAt(atUs);
    this.values[slot] = (this.values[slot] ?? 0) + count;
  }
}
