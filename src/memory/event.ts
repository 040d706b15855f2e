import { RateLimitError } from '../errors.ts';
import { timers } from './runtime.ts';

/** An event as a sleeper saw it: its shared word, and the value then. Once they differ, it has fired. */
export interface ObservedEvent {
  readonly words: Int32Array<SharedArrayBuffer>;
  /** Index in `words`. */
  readonly at: number;
  readonly value: number;
  /** Check the word again after this many milliseconds: a wake-up may be missed. */
  readonly lookMs?: number;
}

/** Whether an event has fired since it was observed; false for undefined. */
export function hasFired(event: ObservedEvent | undefined): boolean {
  return event !== undefined && Atomics.load(event.words, event.at) !== event.value;
}

/**
 * Blocks the thread until the event fires or the time is over.
 *
 * @throws RateLimitError `ERR_CANNOT_BLOCK` in a page's main thread, which cannot block.
 */
export function block({ words, at, value }: ObservedEvent, timeoutMs?: number): 'over' | 'fired' {
  try {
    return Atomics.wait(words, at, value, timeoutMs) === 'timed-out' ? 'over' : 'fired';
  } catch (cause) {
    throw new RateLimitError(
      'ERR_CANNOT_BLOCK',
      "a page's main thread cannot block: await wait(), or use a worker",
      { cause },
    );
  }
}

/** Polling interval where `Atomics.waitAsync` is missing. */
const POLL_MS = 10;

interface Sleeper {
  /** The word's value when the sleeper observed the event. */
  readonly value: number;
  readonly wake: () => void;
}

/** The properties that an event needs of a region shared by processes. */
interface Shared {
  /**
   * How long, about, a wait can keep the memory alive, or miss an event of a thread that died before
   * it notified. Timeouts of `Atomics.waitAsync` would stop the event loop if many expired
   * together.
   */
  readonly lookMs?: number;
  /** Counts how often events have fired: pollers of other processes look at this word first. */
  readonly fired?: Int32Array<SharedArrayBuffer> | undefined;
}

/**
 * A shared word that any thread can fire and any thread can wait for. A pending wait does not keep
 * the event loop alive.
 */
export class SharedEvent {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #at: number;
  readonly #lookMs: number;
  readonly #fired: Int32Array<SharedArrayBuffer> | undefined;
  readonly #sleepers = new Set<Sleeper>();
  #isWatching = false;
  #pollSet: PollSet | undefined;
  /** The value that its word had when it began to wait. */
  #value = 0;

  constructor(words: Int32Array<SharedArrayBuffer>, at: number, region: Shared = {}) {
    this.#words = words;
    this.#at = at;
    this.#lookMs = region.lookMs ?? Number.POSITIVE_INFINITY;
    this.#fired = region.fired;
  }

  get buffer(): SharedArrayBuffer {
    return this.#words.buffer;
  }

  /** Index of its word in the whole buffer. */
  get index(): number {
    return this.#words.byteOffset / Int32Array.BYTES_PER_ELEMENT + this.#at;
  }

  /** The value that its word had when it began to wait. */
  get value(): number {
    return this.#value;
  }

  fire(): void {
    Atomics.add(this.#words, this.#at, 1);
    // Add after the word: a reader that sees the count must see the change that it counts.
    if (this.#fired !== undefined) Atomics.add(this.#fired, 0, 1);
    Atomics.notify(this.#words, this.#at);
  }

  /**
   * The event as it is now. Call this before reading the state that it announces, so that no change
   * is missed.
   */
  observe(): ObservedEvent {
    const value = Atomics.load(this.#words, this.#at);
    return { words: this.#words, at: this.#at, value, lookMs: this.#lookMs };
  }

  /** Calls `wake` once, after the event has fired. The returned function cancels it. */
  listen({ value }: ObservedEvent, wake: () => void): () => void {
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
      timers.start(this.#look, POLL_MS, false);
      return;
    }
    this.#value = value;
    if (this.#lookMs < Number.POSITIVE_INFINITY) {
      this.#pollSet = pollSetOf(this.#lookMs);
      this.#pollSet.add(this);
    }
    const wait = Atomics.waitAsync(this.#words, this.#at, value);
    if (wait.async) wait.value.then(this.#look);
    else queueMicrotask(this.#look);
  }

  /**
   * Ends a wait without sleepers, or one that the event did not end; returns whether it did. Waits of other
   * threads on the word end too, and look again.
   */
  endStaleWait(): boolean {
    const isIdle = this.#sleepers.size === 0;
    if (!isIdle && Atomics.load(this.#words, this.#at) === this.#value) return false;
    this.#pollSet?.remove(this);
    Atomics.notify(this.#words, this.#at);
    return true;
  }

  readonly #look = (): void => {
    this.#isWatching = false;
    this.#pollSet?.remove(this);
    const now = Atomics.load(this.#words, this.#at);
    for (const sleeper of [...this.#sleepers]) {
      // The wake-up of another sleeper may have cancelled this one.
      if (sleeper.value !== now && this.#sleepers.delete(sleeper)) sleeper.wake();
    }
    if (this.#sleepers.size > 0) this.#watch(now);
  };
}

/** Waits that are ended in one turn of the event loop. */
const ENDS_PER_TURN = 256;

/** An event waiting for its word to change. */
export interface Waiting {
  readonly buffer: SharedArrayBuffer;
  /** Index of its word in the whole buffer. */
  readonly index: number;
  /** The value that its word had when it began to wait. */
  readonly value: number;
  /** Ends a wait without sleepers, or one that the event did not end; returns whether it did. */
  endStaleWait(): boolean;
}

/**
 * The waiting events of this thread with the same period. It looks at all of them once per period.
 */
export class PollSet {
  protected readonly events = new Set<Waiting>();
  protected readonly everyMs: number;
  /** The next look. */
  #plan: { readonly afterMs: number } | undefined;

  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  add(event: Waiting): void {
    this.events.add(event);
    this.#planLook();
  }

  remove(event: Waiting): void {
    this.events.delete(event);
  }

  /** The time until the next look, in milliseconds. */
  protected get pauseMs(): number {
    return this.everyMs;
  }

  /** Called after each look. */
  protected looked(): void {}

  /** Plans a look, unless an earlier one is planned. */
  #planLook(): void {
    const afterMs = this.pauseMs;
    if (this.#plan === undefined || afterMs < this.#plan.afterMs) this.#lookAfter(afterMs);
  }

  #lookAfter(afterMs: number): void {
    const plan = { afterMs };
    this.#plan = plan;
    const look = () => {
      if (this.#plan === plan) this.#look();
    };
    timers.start(look, afterMs, false);
  }

  #look(): void {
    this.#plan = undefined;
    let left = ENDS_PER_TURN;
    for (const event of this.events) if (left > 0 && event.endStaleWait()) left--;
    if (left === 0) {
      this.#lookAfter(0);
      return;
    }
    this.looked();
    if (this.events.size > 0) this.#planLook();
  }
}

let create = (everyMs: number): PollSet => new PollSet(everyMs);

/** Called by `zerotime/host`, which the core does not import. */
export function createPollSetsBy(other: typeof create): void {
  create = other;
}

const pollSets = new Map<number, PollSet>();

/** This thread's poll set with a period. */
export function pollSetOf(everyMs: number): PollSet {
  const pollSet = pollSets.get(everyMs) ?? create(everyMs);
  pollSets.set(everyMs, pollSet);
  return pollSet;
}
