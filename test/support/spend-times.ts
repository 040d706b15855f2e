/** The key whose tokens are taken, if there are keys. */
export const KEY = 'hot';

/** Tokens that were granted for some instant in an interval. */
export interface Spent {
  readonly fromUs: number;
  readonly toUs: number;
  readonly n: number;
}

/** From an instant on, a limit has this rate. */
export interface RateChange {
  /** Before and after the call that changed it. */
  readonly fromUs: number;
  readonly toUs: number;
  readonly rate: number;
}

const LANES = 4;
const FIELDS = 3;
const LANE_ENTRIES = 100_000;
const LANE_LENGTH = 1 + LANE_ENTRIES * FIELDS;

/** What threads have taken, in a lane for each. A thread that ends may lose its last entry. */
export class SpendLog {
  readonly #entries: Float64Array;
  readonly #end: Int32Array;

  constructor(buffer: SharedArrayBuffer, lane: number) {
    this.#end = new Int32Array(buffer, 0, 1);
    this.#entries = new Float64Array(buffer, 8 * (1 + lane * LANE_LENGTH), LANE_LENGTH);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(8 * (1 + LANES * LANE_LENGTH));
  }

  get length(): number {
    return this.#entries[0] ?? 0;
  }

  get isOver(): boolean {
    return Atomics.load(this.#end, 0) !== 0 || this.length === LANE_ENTRIES;
  }

  end(): void {
    Atomics.store(this.#end, 0, 1);
  }

  add(fromUs: number, toUs: number, n: number): void {
    const entry = this.length;
    this.#entries.set([fromUs, toUs, n], 1 + entry * FIELDS);
    this.#entries[0] = entry + 1;
  }

  read(): Spent[] {
    return Array.from({ length: this.length }, (_, entry) => {
      const [fromUs = 0, toUs = 0, n = 0] = this.#entries.subarray(1 + entry * FIELDS);
      return { fromUs, toUs, n };
    });
  }
}

/**
 * The most tokens that were surely granted in any interval, beyond those that arrived in it. While a
 * rate changes, both rates count.
 */
export function mostBeyondRate(spent: readonly Spent[], changes: readonly RateChange[]): number {
  const arrivedBy = arrivals(changes);
  const ends = [...spent].sort((a, b) => a.toUs - b.toUs);
  const from = Float64Array.from(ends, ({ fromUs }) => fromUs);
  const tokens = Float64Array.from(ends, ({ n }) => n);
  const arrived = Float64Array.from(ends, ({ toUs }) => arrivedBy(toUs));
  let most = 0;
  for (let first = 0; first < from.length; first++) {
    const beginUs = from[first] ?? 0;
    const before = arrivedBy(beginUs);
    let sum = 0;
    for (let last = 0; last < from.length; last++) {
      if ((from[last] ?? 0) < beginUs) continue;
      sum += tokens[last] ?? 0;
      most = Math.max(most, sum - ((arrived[last] ?? 0) - before));
    }
  }
  return most;
}

/** The most tokens that have arrived from the first change to an instant. */
function arrivals(changes: readonly RateChange[]): (us: number) => number {
  const bounds = changes.flatMap(({ fromUs, toUs }) => [fromUs, toUs]);
  const rates = changes.flatMap(({ rate }, i) => [Math.max(rate, changes[i - 1]?.rate ?? 0), rate]);
  const sums = [0];
  for (let i = 1; i < bounds.length; i++) {
    const us = (bounds[i] ?? 0) - (bounds[i - 1] ?? 0);
    sums.push((sums[i - 1] ?? 0) + (us * (rates[i - 1] ?? 0)) / 1e6);
  }
  return (us) => {
    let [low, high] = [0, bounds.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((bounds[middle] ?? 0) <= us) low = middle;
      else high = middle;
    }
    return (sums[low] ?? 0) + ((us - (bounds[low] ?? 0)) * (rates[low] ?? 0)) / 1e6;
  };
}
