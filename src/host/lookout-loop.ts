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
  readonly everyMs: number;
}

/**
 * Blocks, and looks every few milliseconds at the words of a list. Notifies those that have changed,
 * since who changed them may be another process, which cannot. The thread runs this function's
 * source text. Invariant: the function uses only its arguments and globals, and contains no
 * function, which bundlers that keep names would wrap in a call to a helper.
 */
export function lookOut({ buffer, list }: LookoutThread, layout: LookoutLayout): void {
  const { head, watch, watchBytes, everyMs } = layout;
  const words = new Int32Array(buffer);
  const entries = new Int32Array(list);
  do {
    const end = head.watches + Atomics.load(entries, head.used / 4) * watchBytes;
    for (let entry = head.watches; entry < end; entry += watchBytes) {
      const place = Atomics.load(entries, (entry + watch.place) / 4);
      if (place === 0) continue;
      const value = Atomics.load(entries, (entry + watch.value) / 4);
      if (Atomics.load(words, place) !== value) Atomics.notify(words, place);
    }
    Atomics.add(entries, head.looks / 4, 1);
  } while (Atomics.wait(entries, head.end / 4, 0, everyMs) === 'timed-out');
}
