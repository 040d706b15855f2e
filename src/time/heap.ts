/** An item with an instant, in at most one {@link Heap}. */
export interface Timed {
  /** Microseconds of the clock. It must not change while the item is in a heap. */
  atUs: number;
  /** Set by the heap: its index there, or -1. */
  place: number;
  /** Set by the heap: counts additions, so that equal instants keep their order. */
  order: number;
}

function isBefore(a: Timed, b: Timed): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}

/** A priority queue by instant. Adding and removing take logarithmic time. */
export class Heap<T extends Timed> {
  readonly #items: T[] = [];
  #added = 0;

  get size(): number {
    return this.#items.length;
  }

  /** The earliest item; of equal ones, the first added. */
  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    item.order = this.#added++;
    this.#rise(item, this.#items.length);
  }

  /** Removes an item, if it is in the heap. */
  remove(item: T): void {
    const at = item.place;
    if (at < 0) return;
    item.place = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    const parent = this.#items[(at - 1) >> 1];
    if (at > 0 && parent !== undefined && isBefore(last, parent)) this.#rise(last, at);
    else this.#sink(last, at);
  }

  #put(item: T, at: number): void {
    this.#items[at] = item;
    item.place = at;
  }

  /** Puts an item at a free index, or moves it up. */
  #rise(item: T, free: number): void {
    let at = free;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#items[above];
      if (parent === undefined || !isBefore(item, parent)) break;
      this.#put(parent, at);
      at = above;
    }
    this.#put(item, at);
  }

  /** Puts an item at a free index, or moves it down. */
  #sink(item: T, free: number): void {
    let at = free;
    for (;;) {
      const left = 2 * at + 1;
      const [a, b] = [this.#items[left], this.#items[left + 1]];
      if (a === undefined) break;
      const child = b !== undefined && isBefore(b, a) ? b : a;
      if (!isBefore(child, item)) break;
      const below = child.place;
      this.#put(child, at);
      at = below;
    }
    this.#put(item, at);
  }
}
