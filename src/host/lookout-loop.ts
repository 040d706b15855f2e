import type { WATCH, WATCH_LIST } from '../memory/layout.ts';

/** What a lookout's thread is started with. */
export interface LookoutThread {
  /** The memory in which other processes change words. */
  readonly buffer: SharedArrayBuffer;
  /** Which words, and what they were. */
  readonly list: SharedArrayBuffer;
}

/** The numbers that its program needs. */
export interface LookoutLayout {
  readonly head: typeof WATCH_LIST;
  readonly watch: typeof WATCH;
  readonly watchBytes: number;
  /** The index of the count of rings in the memory. */
  readonly rings: number;
  readonly everyMs: number;
}

/**
 * Blocks, and looks every few milliseconds at the count of rings. If any bell has rung, or a watch
 * was added, it looks at the words of the list. Notifies those that have changed, since who changed
 * them may be another process, which cannot. The thread runs this function's
 * source text. Invariant: the function uses only its arguments and globals, and contains no
 * function, which bundlers that keep names would wrap in a call to a helper.
 */
export function lookOut({ buffer, list }: LookoutThread, layout: LookoutLayout): void {
  const { head, watch, watchBytes, everyMs } = layout;
  const words = new Int32Array(buffer);
  const entries = new Int32Array(list);
  let [seenRings, seenAdded] = [0, -1];
  for (;;) {
    // Read before the list and its words, so that later rings are left to the next look.
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
