import type { Alarm } from './alarm.ts';
import { type Round, roundOf } from './round.ts';
import { timers } from './timers.ts';

/** Polling interval where `Atomics.waitAsync` is missing. */
const POLL_MS = 10;

interface Sleeper {
  /** The word's value when the sleeper asked for its alarm. */
  readonly value: number;
  readonly wake: () => void;
}

/** The properties that a bell needs of a region shared by processes. */
interface Shared {
  /**
   * How long, about, a wait can keep the memory alive, or miss a ring of a thread that died before
   * it notified. Timeouts of `Atomics.waitAsync` would stop the event loop if many expired
   * together.
   */
  readonly lookMs?: number;
  /** Counts the rings of all bells: lookouts of other processes look at this word first. */
  readonly rings?: Int32Array<SharedArrayBuffer> | undefined;
}

/**
 * A shared word that any thread can ring and any thread can wait for. A pending wait does not keep
 * the event loop alive.
 */
export class Bell {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #at: number;
  readonly #lookMs: number;
  readonly #rings: Int32Array<SharedArrayBuffer> | undefined;
  readonly #sleepers = new Set<Sleeper>();
  #isWatching = false;
  #round: Round | undefined;
  /** The value that its word had when it began to wait. */
  #value = 0;

  constructor(words: Int32Array<SharedArrayBuffer>, at: number, region: Shared = {}) {
    this.#words = words;
    this.#at = at;
    this.#lookMs = region.lookMs ?? Number.POSITIVE_INFINITY;
    this.#rings = region.rings;
  }

  get buffer(): SharedArrayBuffer {
    return this.#words.buffer;
  }

  /** Index of its word in the whole buffer. */
  get place(): number {
    return this.#words.byteOffset / Int32Array.BYTES_PER_ELEMENT + this.#at;
  }

  /** The value that its word had when it began to wait. */
  get value(): number {
    return this.#value;
  }

  ring(): void {
    Atomics.add(this.#words, this.#at, 1);
    // Add after the word: a reader that sees the count must see the change that it counts.
    if (this.#rings !== undefined) Atomics.add(this.#rings, 0, 1);
    Atomics.notify(this.#words, this.#at);
  }

  /**
   * An alarm that goes off at the next ring. Call this before reading the state the bell announces.
   */
  alarm(): Alarm {
    const value = Atomics.load(this.#words, this.#at);
    return { words: this.#words, at: this.#at, value, lookMs: this.#lookMs };
  }

  /** Calls `wake` once, after the alarm has gone off. The returned function cancels it. */
  onRing({ value }: Alarm, wake: () => void): () => void {
    const sleeper = { value, wake };
    this.#sleepers.add(sleeper);
    this.#watch(value);
    return () => this.#sleepers.delete(sleeper);
  }

  /** One wait at a time for all sleepers of this thread. */
  #watch(value: number): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    if (Atomics.waitAsync === undefined) {
      timers.start(this.#look, POLL_MS);
      return;
    }
    this.#value = value;
    if (this.#lookMs < Number.POSITIVE_INFINITY) {
      this.#round = roundOf(this.#lookMs);
      this.#round.add(this);
    }
    const ring = Atomics.waitAsync(this.#words, this.#at, value);
    if (ring.async) ring.value.then(this.#look);
    else queueMicrotask(this.#look);
  }

  /**
   * Ends a wait without sleepers, or one that missed a ring; returns whether it did. Waits of other
   * threads on the word end too, and look again.
   */
  endStaleWait(): boolean {
    const isIdle = this.#sleepers.size === 0;
    if (!isIdle && Atomics.load(this.#words, this.#at) === this.#value) return false;
    this.#round?.remove(this);
    Atomics.notify(this.#words, this.#at);
    return true;
  }

  readonly #look = (): void => {
    this.#isWatching = false;
    this.#round?.remove(this);
    const now = Atomics.load(this.#words, this.#at);
    for (const sleeper of [...this.#sleepers]) {
      // The wake-up of another sleeper may have cancelled this one.
      if (sleeper.value !== now && this.#sleepers.delete(sleeper)) sleeper.wake();
    }
    if (this.#sleepers.size > 0) this.#watch(now);
  };
}
