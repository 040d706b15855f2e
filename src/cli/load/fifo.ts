/** First in, first out, in constant time at any length (`Array.shift` moves all that is left). */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The oldest item, which stays; undefined when there is none. */
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
    // Cutting off what was taken costs as much as what is left: do it when that is the lesser half.
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) this.#compact();
    return item;
  }

  /** Looks at all items, the oldest first. */
  forEach(look: (item: T) => void): void {
    for (let at = this.#head; at < this.#items.length; at++) look(this.#items[at] as T); // in bounds
  }

  #compact(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}
