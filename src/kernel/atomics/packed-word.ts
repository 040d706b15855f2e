import { HIGH_HALF, LOW_HALF } from '../../memory/layout.ts';

/**
 * A 64-bit word of two unsigned numbers: a small one in its low bits, up to 31 of them, and a large
 * one above, up to 2^53. Splits a word into both, and joins both to a word, with no arithmetic on
 * BigInt, which would allocate.
 */
export class PackedWord {
  /** The word that was split last, as BigInt and as halves. */
  readonly #word = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#word.buffer);
  readonly #lowBits: number;
  readonly #mask: number;
  /** The large number's units in the word's high half. */
  readonly #perHigh: number;

  constructor(lowBits: number) {
    this.#lowBits = lowBits;
    this.#mask = 2 ** lowBits - 1;
    this.#perHigh = 2 ** (32 - lowBits);
  }

  split(word: bigint): void {
    this.#word[0] = word;
  }

  /** The small number of the word that was split last. */
  get small(): number {
    return (this.#halves[LOW_HALF] as number) & this.#mask; // never out of bounds
  }

  /** The large number of the word that was split last. */
  get large(): number {
    const low = this.#halves[LOW_HALF] as number; // never out of bounds
    const high = this.#halves[HIGH_HALF] as number;
    return (high >>> 0) * this.#perHigh + (low >>> this.#lowBits);
  }

  /** The word of two numbers; it is then the one that was split last. */
  join(large: number, small: number): bigint {
    const high = Math.floor(large / this.#perHigh);
    this.#halves[HIGH_HALF] = high;
    this.#halves[LOW_HALF] = ((large - high * this.#perHigh) << this.#lowBits) | small;
    return this.#word[0] as bigint; // never out of bounds
  }
}
