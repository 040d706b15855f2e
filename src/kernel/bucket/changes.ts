import type { Alarm } from '../../memory/alarm.ts';
import type { CellPlace } from '../../memory/cell.ts';
import { BUCKET } from '../../memory/layout.ts';

/**
 * How long one wait for the next change lasts. It can't be taken back, and holds the cell's memory:
 * so long at most after the last sleeper has gone.
 */
const WATCH_MS = 1000;

/** Wakes those who sleep until an instant that a change of the limit moves. */
export class Changes {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #at: number;
  readonly #sleepers = new Set<() => void>();
  #watching = false;

  constructor({ region, offset }: CellPlace) {
    this.#words = region.i32;
    this.#at = (offset + BUCKET.sequence) >> 2;
  }

  /** To be called when another limit is in force: whoever looks now finds it. */
  announce(): void {
    Atomics.add(this.#words, this.#at, 1);
    Atomics.notify(this.#words, this.#at);
  }

  /** Goes off at a change from now on. To be asked for before one looks at the limit. */
  alarm(): Alarm {
    return { words: this.#words, at: this.#at, value: Atomics.load(this.#words, this.#at) };
  }

  /** Calls `wake`, once, when the alarm goes off; the returned function calls it off. */
  onChange({ value }: Alarm, wake: () => void): () => void {
    this.#sleepers.add(wake);
    this.#watch(value);
    return () => this.#sleepers.delete(wake);
  }

  /** One `waitAsync` at a time serves all sleepers of this thread. */
  #watch(value: number): void {
    // Without it they find out when they wake, which is never too early.
    if (this.#watching || Atomics.waitAsync === undefined) return;
    this.#watching = true;
    const look = () => {
      this.#watching = false;
      if (Atomics.load(this.#words, this.#at) !== value) {
        const sleepers = [...this.#sleepers];
        this.#sleepers.clear();
        for (const wake of sleepers) wake();
      } else if (this.#sleepers.size > 0) this.#watch(value);
    };
    const change = Atomics.waitAsync(this.#words, this.#at, value, WATCH_MS);
    if (change.async) change.value.then(look);
    else queueMicrotask(look);
  }
}
