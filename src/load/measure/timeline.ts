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

/** A value per time slot. Slots widen as the run gets longer. */
export abstract class SlotValues<Value> {
  /** By slot. A slot without a value may be a hole. */
  protected values: (Value | undefined)[] = [];
  #slotUs = FIRST_SLOT_US;

  /** The value of slots that become one: of those that have a value, in order. */
  protected abstract join(values: readonly [Value, ...Value[]]): Value;

  /** Length of a slot in microseconds. */
  get slotUs(): number {
    return this.#slotUs;
  }

  /** The slot of an instant, which is at least 0. */
  protected slotAt(atUs: number): number {
    while (atUs >= MOST_SLOTS * this.#slotUs) this.widenTo(widerSlot(this.#slotUs));
    return Math.floor(atUs / this.#slotUs);
  }

  /** Adds the values of another thread, of which `add` takes one at a time. */
  protected addEach<Data>(
    { slotUs, values }: SlotRecord<Data>,
    add: (atUs: number, value: Data) => void,
  ): void {
    this.widenTo(slotUs);
    for (const [slot, value] of values.entries()) {
      if (value !== undefined) add(slot * slotUs, value);
    }
  }

  /** Joins slots up to this width, to match those of others. */
  widenTo(slotUs: number): void {
    while (this.#slotUs < slotUs) {
      const wider = widerSlot(this.#slotUs);
      const joined = wider / this.#slotUs;
      const slots = Math.ceil(this.values.length / joined);
      this.values = Array.from({ length: slots }, (_, slot) => {
        const parts = this.values.slice(slot * joined, (slot + 1) * joined);
        const [first, ...others] = parts.filter((value) => value !== undefined);
        return first === undefined ? undefined : this.join([first, ...others]);
      });
      this.#slotUs = wider;
    }
  }
}

/** Counts events per time slot. */
export class Timeline extends SlotValues<number> {
  protected join(counts: readonly number[]): number {
    return counts.reduce((sum, count) => sum + count, 0);
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

  toRecord(): SlotRecord<number> {
    return { slotUs: this.slotUs, values: this.values };
  }

  /** Adds the events of another thread. */
  addAll(record: SlotRecord<number>): void {
    this.addEach(record, (atUs, count) => this.add(atUs, count));
  }
}
