import { type Linked, Row } from '../limiters/row.ts';
import { Heap, type Timed } from '../time/heap.ts';

/** Calls with the same key form one queue. Undefined is a key too. */
export type Key = string | number | undefined;

/**
 * The calls of one key and priority. A heap orders flows by `atUs`, the virtual time of the turn.
 */
export interface Flow<T extends Linked<T>> extends Timed {
  readonly level: Level<T>;
  readonly row: Row<T>;
  weight: number;
}

/** Look for flows to forget when there are this many, or twice as many as the last look left. */
const SWEEP_AT = 64;

/**
 * The calls of one priority. Keys take turns in proportion to their weights (stride scheduling): a
 * turn of weight w moves the key's next one by 1/w of virtual time. A key that comes back within
 * its own stride waits for the rest of it, so coming back often gains nothing.
 */
export class Level<T extends Linked<T>> {
  readonly priority: number;
  /** The number of starts before it was last served, or before it got calls. */
  servedAt: number;
  readonly #flows = new Map<Key, Flow<T>>();
  /** The flows with calls. */
  readonly #waiting = new Heap<Flow<T>>();
  /** The virtual time of the latest turn. */
  #now = 0;
  #sweepAt = SWEEP_AT;

  constructor(priority: number, servedAt: number) {
    this.priority = priority;
    this.servedAt = servedAt;
  }

  /** The number of keys with calls. */
  get keys(): number {
    return this.#waiting.size;
  }

  /** The flow whose turn is next. */
  get next(): Flow<T> | undefined {
    return this.#waiting.first;
  }

  /** The first call of each key. */
  *heads(): Iterable<T> {
    for (const { row } of this.#flows.values()) if (row.head !== undefined) yield row.head;
  }

  add(item: T, key: Key, weight: number): Flow<T> {
    const flow = this.#flows.get(key) ?? this.#open(key);
    flow.weight = weight;
    flow.row.add(item);
    if (flow.place < 0) {
      flow.atUs = Math.max(flow.atUs, this.#now);
      this.#waiting.add(flow);
    }
    return flow;
  }

  /** Removes the call whose turn it is. */
  take(): T | undefined {
    const flow = this.#waiting.first;
    const item = flow?.row.head;
    if (flow === undefined || item === undefined) return undefined;
    flow.row.remove(item);
    this.#waiting.remove(flow);
    this.#now = flow.atUs;
    flow.atUs += 1 / flow.weight;
    if (flow.row.length > 0) this.#waiting.add(flow);
    return item;
  }

  /** Removes a call that gives up. */
  remove(item: T, flow: Flow<T>): void {
    flow.row.remove(item);
    if (flow.row.length === 0) this.#waiting.remove(flow);
  }

  #open(key: Key): Flow<T> {
    if (this.#flows.size >= this.#sweepAt) this.#sweep();
    const atUs = this.#now;
    const flow: Flow<T> = { level: this, row: new Row(), weight: 1, atUs, place: -1, order: 0 };
    this.#flows.set(key, flow);
    return flow;
  }

  /** Forgets keys without calls whose last stride is over. */
  #sweep(): void {
    for (const [key, { row, atUs }] of this.#flows) {
      if (row.length === 0 && atUs <= this.#now) this.#flows.delete(key);
    }
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.#flows.size);
  }
}
