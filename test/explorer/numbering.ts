const FIRST_SLOTS = 1024;

/** Spreads vectors that differ in few places over all slots. */
function hashOf(numbers: Int32Array, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash ^ (numbers[at] as number), 0x9e3779b1); // never out of bounds
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}

/**
 * Numbers vectors of one length in the order in which they are first met. A search meets millions:
 * as keys of a Map they would be strings.
 */
export class Numbering {
  readonly #width: number;
  /** By hash, one more than a number; 0 in a free slot. Half of them at least are free. */
  #slots = new Int32Array(FIRST_SLOTS);
  /** The vectors, by number. */
  #vectors: Int32Array;
  #size = 0;

  constructor(width: number) {
    this.#width = width;
    this.#vectors = new Int32Array(width * FIRST_SLOTS);
  }

  /** How many vectors have a number. */
  get size(): number {
    return this.#size;
  }

  /** The vector's number; a new vector gets what {@link size} was. */
  numberOf(vector: Int32Array): number {
    const mask = this.#slots.length - 1;
    for (let at = hashOf(vector, 0, this.#width) & mask; ; at = (at + 1) & mask) {
      const number = (this.#slots[at] as number) - 1; // never out of bounds
      if (number < 0) return this.#add(vector, at);
      if (this.#has(number, vector)) return number;
    }
  }

  #has(number: number, vector: Int32Array): boolean {
    const start = number * this.#width;
    for (let i = 0; i < this.#width; i++) {
      if (this.#vectors[start + i] !== vector[i]) return false;
    }
    return true;
  }

  #add(vector: Int32Array, slot: number): number {
    const number = this.#size++;
    this.#vectors.set(vector, number * this.#width);
    this.#slots[slot] = number + 1;
    if (2 * this.#size > this.#slots.length) this.#grow();
    return number;
  }

  #grow(): void {
    const vectors = new Int32Array(2 * this.#vectors.length);
    vectors.set(this.#vectors);
    this.#vectors = vectors;
    const slots = new Int32Array(2 * this.#slots.length);
    this.#slots = slots;
    const mask = slots.length - 1;
    for (let number = 0; number < this.#size; number++) {
      const start = number * this.#width;
      let at = hashOf(vectors, start, start + this.#width) & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = number + 1;
    }
  }
}
