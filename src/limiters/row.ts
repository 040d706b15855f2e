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

/** A caller who waits for an `Answer`. A heap orders callers by deadline, `atUs`. */
export interface Waiter<Asked, Answer> extends Timed, Linked<Waiter<Asked, Answer>> {
  readonly asked: Asked;
  /** Ends the wait, unless it has ended. */
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
}

/** A row of callers, each until its deadline or an abort. Rows of one line share `deadlines`. */
export class WaitingRow<Asked, Answer> extends Row<Waiter<Asked, Answer>> {
  readonly #deadlines: Heap<Waiter<Asked, Answer>>;
  readonly #aborted: () => void;

  /** `aborted` is called when a caller has left by an abort, or because `joined` has failed. */
  constructor(deadlines: Heap<Waiter<Asked, Answer>>, aborted: () => void) {
    super();
    this.#deadlines = deadlines;
    this.#aborted = aborted;
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
      const leave = () => {
        if (!isWaiting) return false;
        isWaiting = false;
        this.remove(waiter);
        this.#deadlines.remove(waiter);
        unlink();
        return true;
      };
      const waiter: Waiter<Asked, Answer> = {
        asked,
        ...{ atUs: deadlineUs, place: -1, order: 0 },
        ...{ ahead: undefined, behind: undefined },
        resolve: (answer) => {
          if (leave()) resolve(answer);
        },
        reject: (reason) => {
          if (leave()) reject(reason);
        },
      };
      this.add(waiter);
      if (deadlineUs < Number.POSITIVE_INFINITY) this.#deadlines.add(waiter);
      unlink = onAbort(signal, (reason) => {
        waiter.reject(reason);
        this.#aborted();
      });
      if (!isWaiting) return;
      try {
        joined(waiter);
      } catch (error) {
        waiter.reject(error);
        this.#aborted();
      }
    });
  }

  /** Rejects all callers, because the clock failed. */
  fail(reason: unknown): void {
    for (let head = this.head; head !== undefined; head = this.head) head.reject(reason);
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
