import { WORK_PER_TURN } from '../time/agenda.ts';
import type { Heap, Timed } from '../time/heap.ts';
import { onAbort } from '../time/on-abort.ts';

/** An item of at most one {@link Row}. */
export interface Linked<T> {
  ahead: T | undefined;
  behind: T | undefined;
}

/** A queue of items in order of arrival. Adding and removing take constant time. */
export class Row<T extends Linked<T>> {
  #head: T | undefined;
  #tail: T | undefined;
  #length = 0;

  get head(): T | undefined {
    return this.#head;
  }

  get tail(): T | undefined {
    return this.#tail;
  }

  get length(): number {
    return this.#length;
  }

  add(item: T): void {
    item.ahead = this.#tail;
    if (this.#tail === undefined) this.#head = item;
    else this.#tail.behind = item;
    this.#tail = item;
    this.#length++;
  }

  remove(item: T): void {
    const { ahead, behind } = item;
    if (ahead === undefined) this.#head = behind;
    else ahead.behind = behind;
    if (behind === undefined) this.#tail = ahead;
    else behind.ahead = ahead;
    this.#length--;
  }
}

/** A waiting caller, and how its wait ends. `atUs` is its deadline. */
export interface Waiter<Asked, Answer> extends Timed, Linked<Waiter<Asked, Answer>> {
  readonly asked: Asked;
  /** Ends the wait, unless it has ended. */
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
}

/** A row of callers, each until its deadline or an abort. Rows of one line share `deadlines`. */
export class WaitingRow<Asked, Answer> extends Row<Waiter<Asked, Answer>> {
  readonly #deadlines: Heap<Waiter<Asked, Answer>>;
  readonly #left: () => void;

  /**
   * `left` is called when callers have left by an abort or a failure. It must not throw if none is
   * left.
   */
  constructor(deadlines: Heap<Waiter<Asked, Answer>>, left: () => void) {
    super();
    this.#deadlines = deadlines;
    this.#left = left;
  }

  /** Adds a caller at the end, and calls `joined` unless its signal has aborted. */
  join(
    asked: Asked,
    deadlineUs: number,
    signal: AbortSignal | undefined,
    joined: (waiter: Waiter<Asked, Answer>) => void,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let isWaiting = true;
      let unlink = () => {};
      const ending =
        <T>(end: (value: T) => void) =>
        (value: T) => {
          if (!isWaiting) return;
          isWaiting = false;
          this.remove(waiter);
          this.#deadlines.remove(waiter);
          unlink();
          end(value);
        };
      const waiter: Waiter<Asked, Answer> = {
        asked,
        atUs: deadlineUs,
        place: -1,
        order: 0,
        ahead: undefined,
        behind: undefined,
        resolve: ending(resolve),
        reject: ending(reject),
      };
      this.add(waiter);
      if (deadlineUs < Number.POSITIVE_INFINITY) this.#deadlines.add(waiter);
      const leave = (reason: unknown) => {
        waiter.reject(reason);
        try {
          this.#left();
        } catch (error) {
          // The clock failed. In the signal's listener, its error would end the process.
          this.fail(error);
        }
      };
      unlink = onAbort(signal, leave);
      try {
        if (isWaiting) joined(waiter);
      } catch (error) {
        leave(error);
      }
    });
  }

  /** Rejects all callers, because the clock failed. */
  fail(reason: unknown): void {
    for (let head = this.head; head !== undefined; head = this.head) head.reject(reason);
    this.#left();
  }
}

/**
 * Serves the first callers until one has to wait longer, then those whose deadlines have passed, but
 * no more than fit into one turn of the event loop. Returns how many more would.
 */
export function serveTurn<T extends Timed>(
  nowUs: number,
  first: () => T | undefined,
  deadlines: Heap<T>,
  serve: (waiter: T) => boolean,
  expire: (waiter: T) => void,
): number {
  let left = WORK_PER_TURN;
  for (let head = first(); head !== undefined && left > 0 && serve(head); head = first()) left--;
  for (let late = deadlines.first; late !== undefined && left > 0; late = deadlines.first) {
    if (late.atUs > nowUs) break;
    expire(late);
    left--;
  }
  return left;
}
