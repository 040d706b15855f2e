import { Worker } from 'node:worker_threads';
import {
  REGION_FILE,
  WATCH,
  WATCH_BYTES,
  WATCH_LIST,
  WATCH_LIST_BYTES,
  WATCHES,
} from '../memory/layout.ts';
import { sharedBytes } from '../memory/shared-memory.ts';
import { startThread } from '../time/background-thread.ts';
import type { Poller } from './watched-poll-set.ts';

/** Between two looks. Including the time to wake two threads, a change is noticed within 25 ms. */
export const LOOK_EVERY_MS = 20;

/** The layout that its program needs. */
const LAYOUT = {
  head: WATCH_LIST,
  watch: WATCH,
  watchBytes: WATCH_BYTES,
  /** Index of the count of events fired in the memory. */
  fired: REGION_FILE.fired >> 2,
  everyMs: LOOK_EVERY_MS,
} as const;

/** The data that a poller's thread starts with. */
interface PollerData {
  /** The memory in which other processes change words. */
  readonly buffer: SharedArrayBuffer;
  /** The watched words and their last values. */
  readonly list: SharedArrayBuffer;
}

/**
 * Blocks, and looks at the count of events fired every few milliseconds. If any event has fired, or a watch
 * was added, it looks at the words of the list and notifies those that have changed, because
 * another process that changes a word cannot notify this one. Run as {@link programOf} says.
 */
function poll({ buffer, list }: PollerData, layout: typeof LAYOUT): void {
  const { head, watch, watchBytes, everyMs } = layout;
  const words = new Int32Array(buffer);
  const entries = new Int32Array(list);
  let [seenFired, seenAdded] = [0, -1];
  for (;;) {
    // Read before the list and its words, so that later ones are seen by the next look.
    const fired = Atomics.load(words, layout.fired);
    const added = Atomics.load(entries, head.added / 4);
    const isNew = fired !== seenFired || added !== seenAdded;
    seenFired = fired;
    seenAdded = added;
    const end = head.watches + Atomics.load(entries, head.used / 4) * watchBytes;
    for (let entry = head.watches; isNew && entry < end; entry += watchBytes) {
      const index = Atomics.load(entries, (entry + watch.index) / 4);
      if (index === 0) continue;
      const value = Atomics.load(entries, (entry + watch.value) / 4);
      if (Atomics.load(words, index) !== value) Atomics.notify(words, index);
    }
    Atomics.add(entries, head.looks / 4, 1);
    if (Atomics.wait(entries, head.end / 4, 0, everyMs) !== 'timed-out') return;
  }
}

/**
 * A thread that watches words of a region for another one. A look takes a third of the time of a
 * timer, because the thread has no event loop, and one word tells whether any has changed.
 */
export class PollerThread implements Poller {
  readonly #list = new Int32Array(sharedBytes(WATCH_LIST_BYTES));
  /** Free entries that were used before. */
  readonly #free: number[] = [];
  #used = 0;
  #seen = 0;

  /** Starts the thread, which does not keep the process alive. It may fail: see {@link isAwake}. */
  constructor(buffer: SharedArrayBuffer) {
    const data: PollerData = { buffer, list: this.#list.buffer };
    try {
      startThread({ Worker }, 'zerotime poller', poll, data, LAYOUT);
    } catch {
      // For example, the permission model forbids threads.
    }
  }

  get isAwake(): boolean {
    const looks = Atomics.load(this.#list, WATCH_LIST.looks >> 2);
    const isAwake = looks !== this.#seen;
    this.#seen = looks;
    return isAwake;
  }

  watch(index: number, value: number): (() => void) | undefined {
    const number = this.#free.pop() ?? this.#used;
    if (number === WATCHES) return undefined;
    const entry = WATCH_LIST.watches + number * WATCH_BYTES;
    // Store the index last: a reader that sees it must see its value too.
    Atomics.store(this.#list, (entry + WATCH.value) >> 2, value);
    Atomics.store(this.#list, (entry + WATCH.index) >> 2, index);
    if (number === this.#used) Atomics.store(this.#list, WATCH_LIST.used >> 2, ++this.#used);
    Atomics.add(this.#list, WATCH_LIST.added >> 2, 1);
    return () => {
      Atomics.store(this.#list, (entry + WATCH.index) >> 2, 0);
      this.#free.push(number);
    };
  }

  end(): void {
    Atomics.store(this.#list, WATCH_LIST.end >> 2, 1);
    Atomics.notify(this.#list, WATCH_LIST.end >> 2);
  }
}
