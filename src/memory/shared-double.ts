// Doubles in shared memory, accessed as 64-bit integers because a plain access may tear.

const float = new Float64Array(1);
const bits = new BigInt64Array(float.buffer);

function fromBits(word: bigint): number {
  bits[0] = word;
  return float[0] as number; // the same eight bytes
}

function toBits(value: number): bigint {
  float[0] = value;
  return bits[0] as bigint; // the same eight bytes
}

type Words = BigInt64Array<SharedArrayBuffer>;

export function loadDouble(words: Words, at: number): number {
  return fromBits(Atomics.load(words, at));
}

export function storeDouble(words: Words, at: number, value: number): void {
  Atomics.store(words, at, toBits(value));
}

/** Adds to a double atomically. */
export function addDouble(words: Words, at: number, amount: number): void {
  for (;;) {
    const before = Atomics.load(words, at);
    const after = toBits(fromBits(before) + amount);
    if (Atomics.compareExchange(words, at, before, after) === before) return;
  }
}

/** Raises a double to `value` atomically, if it is less. */
export function raiseDouble(words: Words, at: number, value: number): void {
  for (;;) {
    const before = Atomics.load(words, at);
    if (fromBits(before) >= value) return;
    if (Atomics.compareExchange(words, at, before, toBits(value)) === before) return;
  }
}

/** Replaces a double if its bits equal those of `before`; returns whether they did. */
export function exchangeDouble(words: Words, at: number, before: number, after: number): boolean {
  const expected = toBits(before);
  return Atomics.compareExchange(words, at, expected, toBits(after)) === expected;
}
