import type { Alarm } from './alarm.ts';

/** Polling interval where `Atomics.waitAsync` is missing. */
const POLL_MS = 10;

interface Sleeper {
  /** The word's value when the sleeper asked for its alarm. */
  readonly value: number;
  readonly wake: () => void;
}

/**
 * A shared word that any thread can ring and any thread can wait for. A pending wait does not keep
 * the event loop alive.
 */
export class Bell {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #at: number;
  readonly #longestWaitMs: number;
  readonly #sleepers = new Set<Sleeper>();
  #isWatching = false;

  /**
   * A wait cannot be cancelled and keeps the memory alive. `longestWaitMs` limits this to that time
   * after the last sleeper has left.
   */
  constructor(
    words: Int32Array<SharedArrayBuffer>,
    at: number,
    longestWaitMs = Number.POSITIVE_INFINITY,
  ) {
    this.#words = words;
    this.#at = at;
    this.#longestWaitMs = longestWaitMs;
  }

  ring(): void {
    Atomics.add(this.#words, this.#at, 1);
    Atomics.notify(this.#words, this.#at);
  }

  /**
   * An alarm that goes off at the next ring. Call this before reading the state the bell announces.
   */
  alarm(): Alarm {
    return { words: this.#words, at: this.#at, value: Atomics.load(this.#words, this.#at) };
  }

  /** Calls `wake` once, after the alarm has gone off. The returned function cancels it. */
  onRing({ value }: Alarm, wake: () => void): () => void {
    const sleeper = { value, wake };
    this.#sleepers.add(sleeper);
    this.#watch(value);
    return () => this.#sleepers.delete(sleeper);
  }

  /** One wait at a time serves all sleepers of this thread. */
  #watch(value: number): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    if (Atomics.waitAsync === undefined) {
      setTimeout(this.#look, POLL_MS);
      return;
    }
    const ring = Atomics.waitAsync(this.#words, this.#at, value, this.#longestWaitMs);
    if (ring.async) ring.value.then(this.#look);
    else queueMicrotask(this.#look);
  }

  readonly #look = (): void => {
    this.#isWatching = false;
    const now = Atomics.load(this.#words, this.#at);
    for (const sleeper of [...this.#sleepers]) {
      // The wake-up of another sleeper may have cancelled this one.
      if (sleeper.value !== now && this.#sleepers.delete(sleeper)) sleeper.wake();
    }
    if (this.#sleepers.size > 0) this.#watch(now);
  };
}
