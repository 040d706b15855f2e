import { type Linked, Row } from '../limiters/row.ts';
import { Heap, type Timed } from '../time/heap.ts';

/** While several priorities wait, one start in this many goes to the one served longest ago. */
const STARTS_PER_GIFT = 8;

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
class Level<T extends Linked<T>> {
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

/** An item of a {@link FairQueue}. */
export interface Queued<T extends Linked<T>> extends Linked<T> {
  /** When it was added. */
  readonly sinceUs: number;
  /** Set by the queue: where it waits, if it does. */
  flow: Flow<T> | undefined;
}

/**
 * The order in which calls start: higher priorities first; within a priority, keys take turns by
 * weight; within a key, in order of arrival.
 *
 * Lower priorities are delayed, never starved. Invariant: while m priorities have calls, each gets
 * at least one of any 8 (m - 1) starts, because every eighth start serves the one served longest
 * ago.
 */
export class FairQueue<T extends Queued<T>> {
  readonly #weightOf: (key: Key) => number;
  /** The levels with calls, highest priority first. */
  readonly #levels: Level<T>[] = [];
  #length = 0;
  #starts = 0;
  /** Starts while several priorities had calls. */
  #contended = 0;

  constructor(weightOf: (key: Key) => number) {
    this.#weightOf = weightOf;
  }

  get length(): number {
    return this.#length;
  }

  /** The call that starts last, if that is certain: all have one priority and one key. */
  get last(): T | undefined {
    const [level] = this.#levels;
    if (level === undefined || this.#levels.length > 1 || level.keys > 1) return undefined;
    return level.next?.row.tail;
  }

  /** When the longest waiting call was made; undefined if none waits. */
  get oldestUs(): number | undefined {
    let oldestUs: number | undefined;
    for (const level of this.#levels) {
      for (const { sinceUs } of level.heads()) oldestUs = Math.min(oldestUs ?? sinceUs, sinceUs);
    }
    return oldestUs;
  }

  /** Adds a call behind those of the same priority and key. */
  add(item: T, priority: number, key: Key): void {
    item.flow = this.#level(priority).add(item, key, this.#weightOf(key));
    this.#length++;
  }

  /** Removes the next call to start. */
  take(): T | undefined {
    const level = this.#next();
    const item = level?.take();
    if (level === undefined || item === undefined) return undefined;
    level.servedAt = ++this.#starts;
    this.#leave(item, level);
    return item;
  }

  /** Removes a call that gives up; false if it is not in the queue. */
  remove(item: T): boolean {
    const { flow } = item;
    if (flow === undefined) return false;
    flow.level.remove(item, flow);
    this.#leave(item, flow.level);
    return true;
  }

  #leave(item: T, level: Level<T>): void {
    item.flow = undefined;
    this.#length--;
    if (level.keys === 0) this.#levels.splice(this.#levels.indexOf(level), 1);
    this.left(item);
  }

  /** Called with each call that has left. */
  protected left(_item: T): void {}

  /** Few priorities wait at a time, so a search from the end is fast. */
  #level(priority: number): Level<T> {
    const at = this.#levels.findLastIndex((level) => level.priority >= priority);
    const found = this.#levels[at];
    if (found?.priority === priority) return found;
    const level = new Level<T>(priority, this.#starts);
    this.#levels.splice(at + 1, 0, level);
    return level;
  }

  #next(): Level<T> | undefined {
    const [highest] = this.#levels;
    if (this.#levels.length < 2 || ++this.#contended % STARTS_PER_GIFT !== 0) return highest;
    // Of several served at the same time, the lowest.
    return this.#levels.reduce((longest, level) =>
      level.servedAt <= longest.servedAt ? level : longest,
    );
  }
}
