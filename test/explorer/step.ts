/** The kinds of access. A plain read is a load, a plain write a store. */
export const KINDS = [
  'load',
  'store',
  'add',
  'sub',
  'and',
  'or',
  'exchange',
  'compareExchange',
] as const;
export type Kind = (typeof KINDS)[number];

/** A step on a word of shared memory that a thread is about to take. Words are compared as bits. */
export interface Step {
  /** Which of the thread's operations it belongs to. */
  readonly operation: number;
  readonly kind: Kind;
  /** Byte offset. */
  readonly address: number;
  /** Whether the word has 64 bits rather than 32. */
  readonly wide: boolean;
  readonly a: bigint;
  readonly b: bigint;
}

/** The 8-byte word that a step accesses. Steps on different words commute. */
export function wordOf(address: number): number {
  return address >> 3;
}

export function sameStep(a: Step, b: Step): boolean {
  return (
    a.operation === b.operation &&
    a.kind === b.kind &&
    a.address === b.address &&
    a.wide === b.wide &&
    a.a === b.a &&
    a.b === b.b
  );
}

/** The word's value after the step, which was `old` before. */
function written({ kind, a, b }: Step, old: bigint): bigint {
  switch (kind) {
    case 'load':
      return old;
    case 'add':
      return old + a;
    case 'sub':
      return old - a;
    case 'and':
      return old & a;
    case 'or':
      return old | a;
    case 'compareExchange':
      return old === a ? b : old;
    default:
      return a;
  }
}

/** The scheduler's copy of shared memory. */
export class Memory {
  readonly buffer: SharedArrayBuffer;
  readonly #i32: Int32Array;
  readonly #i64: BigInt64Array;

  constructor(bytes: Uint8Array) {
    this.buffer = new SharedArrayBuffer(bytes.byteLength);
    new Uint8Array(this.buffer).set(bytes);
    this.#i32 = new Int32Array(this.buffer);
    this.#i64 = new BigInt64Array(this.buffer);
  }

  #read({ address, wide }: Step): bigint {
    return wide ? (this.#i64[address >> 3] ?? 0n) : BigInt(this.#i32[address >> 2] ?? 0);
  }

  /** The value that the thread would read: nothing for a store. */
  seen(step: Step): bigint {
    return step.kind === 'store' ? 0n : this.#read(step);
  }

  /** Whether the step would change its word. */
  changes(step: Step): boolean {
    if (step.kind === 'load') return false;
    const old = this.#read(step);
    return BigInt.asIntN(step.wide ? 64 : 32, written(step, old)) !== old;
  }

  take(step: Step): void {
    const next = written(step, this.#read(step));
    if (step.wide) this.#i64[step.address >> 3] = next;
    else this.#i32[step.address >> 2] = Number(BigInt.asIntN(32, next));
  }

  word(word: number): bigint {
    return this.#i64[word] ?? 0n;
  }

  setWord(word: number, value: bigint): void {
    this.#i64[word] = value;
  }

  /** Copies these words: two halves of each. */
  copy(words: readonly number[], to: Int32Array): void {
    let at = 0;
    for (const word of words) {
      to[at++] = this.#i32[2 * word] as number; // never out of bounds
      to[at++] = this.#i32[2 * word + 1] as number;
    }
  }
}
