/** A queue with amortized constant-time operations; `Array.shift` may move all items. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The oldest item, without removing it; undefined if the queue is empty. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#head += 1;
    // Compacting costs as much as the remaining items, so wait until they are the smaller half.
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) this.#compact();
    return item;
  }

  /** Visits all items, oldest first. */
  forEach(look: (item: T) => void): void {
    for (let at = this.#head; at < this.#items.length; at++) look(this.#items[at] as T); // in bounds
  }

  #compact(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}
