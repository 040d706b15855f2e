/** An item of at most one {@link Row}. */
export interface Linked<T> {
  ahead: T | undefined;
  behind: T | undefined;
}

/** A queue of items in order of arrival. Adding and removing take constant time. */
export class Row<T extends Linked<T>> {
  #head: T | undefined;
  #tail: T | undefined;
  #length = 0;

  get head(): T | undefined {
    return this.#head;
  }

  get tail(): T | undefined {
    return this.#tail;
  }

  get length(): number {
    return this.#length;
  }

  add(item: T): void {
    item.ahead = this.#tail;
    if (this.#tail === undefined) this.#head = item;
    else this.#tail.behind = item;
    this.#tail = item;
    this.#length++;
  }

  remove(item: T): void {
    const { ahead, behind } = item;
    if (ahead === undefined) this.#head = behind;
    else ahead.behind = behind;
    if (behind === undefined) this.#tail = ahead;
    else behind.ahead = ahead;
    this.#length--;
  }
}
