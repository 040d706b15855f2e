import { type Linked, Row } from '../limiters/row.ts';
import { Heap, type Timed } from '../time/heap.ts';

/** Calls with the same key form one queue. Undefined is a key too. */
export type Key = string | number | undefined;

/** The waiting calls of one key and priority. A heap orders flows by `atUs`, the end of the turn. */
export interface Flow<T extends Linked<T>> extends Timed {
  readonly level: Level<T>;
  readonly key: Key;
  readonly row: Row<T>;
  readonly weight: number;
}

/**
 * The calls of one priority. Keys take turns in proportion to their weights (self-clocked fair
 * queueing). A turn of weight w takes 1/w of virtual time, and the turn that ends first is next.
 * The time is the end of the latest turn: a key's turn begins then, or when its previous one ends.
 *
 * Bound: if the weights are equal and N keys wait after a key starts a call or comes, itself
 * included, then its next call is one of the next N starts. Proof: let T be the time, in units of a
 * turn. The key's next turn ends at T + 1. Those of the N - 1 others end within [T, T + 1] and are
 * ahead of it. After one of them, that key's next turn ends at T + 1 or later, as does that of any
 * key that comes; planned later, it is behind. In general, between two calls of a key of weight w,
 * one of weight v starts at most v/w + 1 calls.
 *
 * A key without calls is forgotten: its last turn has ended, so coming back often gains nothing.
 */
export class Level<T extends Linked<T>> {
  readonly priority: number;
  /** The number of starts before it was last served, or before it got calls. */
  servedAt: number;
  readonly #flows = new Map<Key, Flow<T>>();
  readonly #turns = new Heap<Flow<T>>();
  /** The virtual time: the end of the latest turn. */
  #now = 0;

  constructor(priority: number, servedAt: number) {
    this.priority = priority;
    this.servedAt = servedAt;
  }

  /** The number of keys with calls. */
  get keys(): number {
    return this.#turns.size;
  }

  /** The flow whose turn is next. */
  get next(): Flow<T> | undefined {
    return this.#turns.first;
  }

  /** The first call of each key. */
  *heads(): Iterable<T> {
    for (const { row } of this.#flows.values()) if (row.head !== undefined) yield row.head;
  }

  add(item: T, key: Key, weight: number): Flow<T> {
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      flow = { level: this, key, row: new Row(), weight, atUs: 0, place: -1, order: 0 };
      this.#flows.set(key, flow);
      this.#plan(flow);
    }
    flow.row.add(item);
    return flow;
  }

  /** Removes the call whose turn it is. */
  take(): T | undefined {
    const flow = this.#turns.first;
    const item = flow?.row.head;
    if (flow === undefined || item === undefined) return undefined;
    this.#turns.remove(flow);
    this.#now = flow.atUs;
    this.#plan(flow);
    this.remove(item, flow);
    return item;
  }

  /** Removes a call that gives up. */
  remove(item: T, flow: Flow<T>): void {
    flow.row.remove(item);
    if (flow.row.length > 0) return;
    this.#turns.remove(flow);
    this.#flows.delete(flow.key);
  }

  #plan(flow: Flow<T>): void {
    flow.atUs = this.#now + 1 / flow.weight;
    this.#turns.add(flow);
  }
}
