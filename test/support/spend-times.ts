import { type KeyedLimitSet, type LimitSet, systemClock } from '../../src/index.ts';
import type { Granted } from '../oracle/bound.ts';

const HEAD = { end: 0, entries: 1 } as const;
const FIELDS = 3;

/** What threads have taken, in a lane for each. A thread that ends may lose its last entry. */
export class SpendLog {
  readonly #head: Int32Array;
  readonly #entries: Float64Array;

  constructor(buffer: SharedArrayBuffer, lane: number) {
    this.#head = new Int32Array(buffer, 0, 2);
    const length = 1 + (this.#head[HEAD.entries] ?? 0) * FIELDS;
    this.#entries = new Float64Array(buffer, 8 * (1 + lane * length), length);
  }

  static create(lanes: number, entries: number): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer(8 * (1 + lanes * (1 + entries * FIELDS)));
    new Int32Array(buffer)[HEAD.entries] = entries;
    return buffer;
  }

  get length(): number {
    return this.#entries[0] ?? 0;
  }

  get isFull(): boolean {
    return this.length === this.#head[HEAD.entries];
  }

  get isOver(): boolean {
    return Atomics.load(this.#head, HEAD.end) !== 0 || this.isFull;
  }

  end(): void {
    Atomics.store(this.#head, HEAD.end, 1);
  }

  add(fromUs: number, toUs: number, n: number): void {
    const entry = this.length;
    this.#entries.set([fromUs, toUs, n], 1 + entry * FIELDS);
    this.#entries[0] = entry + 1;
  }

  /** All entries, which are then forgotten. */
  read(): Granted[] {
    const read = Array.from({ length: this.length }, (_, entry) => {
      const [atUs = 0, untilUs = 0, n = 0] = this.#entries.subarray(1 + entry * FIELDS);
      return { atUs, untilUs, n };
    });
    this.#entries[0] = 0;
    return read;
  }
}

/** The key whose tokens are taken, if there are keys. */
const KEY = 'hot';
/** Changes all the time would let none of them succeed for long. */
const CALLS_PER_CHANGE = 100;

/**
 * Takes tokens on the system clock, and logs between which readings. Now and then it writes the limits
 * that are there, so that a thread may be killed in a change.
 */
export function timedTakes(
  limiter: LimitSet | KeyedLimitSet,
  spent: SpendLog,
  first: number,
): () => void {
  const taking = 'for' in limiter ? limiter.for(KEY) : limiter;
  const same = { limits: limiter.limits.map(() => ({})) };
  const calls = [
    () => (taking.tryConsume() ? 1 : 0),
    () => taking.consumeOrDrain(3),
    () => (taking.tryConsume(2) ? 2 : 0),
    () => (taking.waitSync(1, { timeoutMs: 2 }) ? 1 : 0),
  ];
  let call = first;
  return () => {
    if (call % CALLS_PER_CHANGE === 0) limiter.reconfigure(same);
    const fromUs = systemClock.now();
    const n = calls[call++ % calls.length]?.() ?? 0;
    if (n > 0) spent.add(fromUs, systemClock.now(), n);
  };
}
