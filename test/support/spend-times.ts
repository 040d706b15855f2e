import type { Granted } from '../oracle/bound.ts';

/** The key whose tokens are taken, if there are keys. */
export const KEY = 'hot';

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

  read(): Granted[] {
    return Array.from({ length: this.length }, (_, entry) => {
      const [atUs = 0, untilUs = 0, n = 0] = this.#entries.subarray(1 + entry * FIELDS);
      return { atUs, untilUs, n };
    });
  }
}
