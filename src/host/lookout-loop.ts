import type { WATCH, WATCH_LIST } from '../memory/layout.ts';

/** The data that a lookout's thread starts with. */
export interface LookoutThread {
  /** The memory in which other processes change words. */
  readonly buffer: SharedArrayBuffer;
  /** The watched words and their last values. */
  readonly list: SharedArrayBuffer;
}

/** The layout that its program needs. */
export interface LookoutLayout {
  readonly head: typeof WATCH_LIST;
  readonly watch: typeof WATCH;
  readonly watchBytes: number;
  /** Index of the count of rings in the memory. */
  readonly rings: number;
  readonly everyMs: number;
}

/**
 * Blocks, and looks at the count of rings every few milliseconds. If any bell has rung, or a watch
 * was added, it looks at the words of the list and notifies those that have changed, because
 * another process that changes a word cannot notify this one. The thread runs this function's
 * source text. Invariant: it uses only its arguments and globals, and contains no function, because
 * bundlers that keep names would wrap that in a call to a helper.
 */
export function lookOut({ buffer, list }: LookoutThread, layout: LookoutLayout): void {
  const { head, watch, watchBytes, everyMs } = layout;
  const words = new Int32Array(buffer);
  const entries = new Int32Array(list);
  let [seenRings, seenAdded] = [0, -1];
  for (;;) {
    // Read before the list and its words, so that later rings are seen by the next look.
    const rings = Atomics.load(words, layout.rings);
    const added = Atomics.load(entries, head.added / 4);
    const isNew = rings !== seenRings || added !== seenAdded;
    seenRings = rings;
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
