import type { Linked } from '../limiters/row.ts';
import { type Flow, type Key, Level } from './level.ts';

/** While several priorities wait, one start in this many goes to the one served longest ago. */
const STARTS_PER_GIFT = 8;

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
    this.#left(item, level);
    return item;
  }

  /** Removes a call that gives up; false if it is not in the queue. */
  remove(item: T): boolean {
    const { flow } = item;
    if (flow === undefined) return false;
    flow.level.remove(item, flow);
    this.#left(item, flow.level);
    return true;
  }

  #left(item: T, level: Level<T>): void {
    item.flow = undefined;
    this.#length--;
    if (level.keys === 0) this.#levels.splice(this.#levels.indexOf(level), 1);
  }

  /** Few priorities wait at a time, so a search from the end is fast. */
  #level(priority: number): Level<T> {
    let at = this.#levels.length;
    for (; at > 0; at--) {
      const level = this.#levels[at - 1];
      if (level?.priority === priority) return level;
      if (level !== undefined && level.priority > priority) break;
    }
    const level = new Level<T>(priority, this.#starts);
    this.#levels.splice(at, 0, level);
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
