/** Compact the array when at least this many items have left the front. */
const COMPACT_AT = 1024;

/** A double-ended queue in constant time. `Array.shift` moves all items of a long array. */
export class DoubleEnded<T> {
  #items: (T | undefined)[] = [];
  /** The index of the first item; those before it have left. */
  #start = 0;

  get length(): number {
    return this.#items.length - this.#start;
  }

  get first(): T | undefined {
    return this.#items[this.#start];
  }

  get last(): T | undefined {
    return this.#items.at(-1);
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes the last item. */
  pop(): T | undefined {
    return this.length === 0 ? undefined : this.#items.pop();
  }

  /** Removes the first item. */
  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.first;
    this.#items[this.#start++] = undefined;
    if (this.length === 0 || (this.#start >= COMPACT_AT && this.#start >= this.length)) {
      this.#items.splice(0, this.#start);
      this.#start = 0;
    }
    return item;
  }

  /** Removes an item; false if it is not in the queue. */
  remove(item: T): boolean {
    const at = this.#items.indexOf(item, this.#start);
    if (at < 0) return false;
    this.#items.splice(at, 1);
    return true;
  }
}
