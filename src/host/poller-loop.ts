import type { WATCH, WATCH_LIST } from '../memory/layout.ts';

/** The data that a poller's thread starts with. */
export interface PollerThread {
  /** The memory in which other processes change words. */
  readonly buffer: SharedArrayBuffer;
  /** The watched words and their last values. */
  readonly list: SharedArrayBuffer;
}

/** The layout that its program needs. */
export interface PollerLayout {
  readonly head: typeof WATCH_LIST;
  readonly watch: typeof WATCH;
  readonly watchBytes: number;
  /** Index of the count of events fired in the memory. */
  readonly fired: number;
  readonly everyMs: number;
}

/**
 * Blocks, and looks at the count of events fired every few milliseconds. If any event has fired, or a watch
 * was added, it looks at the words of the list and notifies those that have changed, because
 * another process that changes a word cannot notify this one. The thread runs this function's
 * source text. Invariant: it uses only its arguments and globals, and contains no function, because
 * bundlers that keep names would wrap that in a call to a helper.
 */
export function poll({ buffer, list }: PollerThread, layout: PollerLayout): void {
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
      const place = Atomics.load(entries, (entry + watch.place) / 4);
      if (place === 0) continue;
      const value = Atomics.load(entries, (entry + watch.value) / 4);
      if (Atomics.load(words, place) !== value) Atomics.notify(words, place);
    }
    Atomics.add(entries, head.looks / 4, 1);
    if (Atomics.wait(entries, head.end / 4, 0, everyMs) !== 'timed-out') return;
  }
}
