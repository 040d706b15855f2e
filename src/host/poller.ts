import { Worker } from 'node:worker_threads';
import { createPollSetsBy, PollSet, type Waiting } from '../memory/event.ts';
import {
  REGION_FILE,
  WATCH,
  WATCH_BYTES,
  WATCH_LIST,
  WATCH_LIST_BYTES,
  WATCHES,
} from '../memory/layout.ts';
import { timers } from '../memory/runtime.ts';
import { sharedBytes } from '../memory/shared-memory.ts';
import { startThread } from '../time/background-thread.ts';

/** Watches words for a thread and notifies those that change, so that the thread can rest. */
export interface Poller {
  /** Whether it has looked since this was last read. */
  readonly isAwake: boolean;
  /**
   * Watches the word at an index of its memory for a change from `value`. The returned function
   * ends the watch. Undefined if it has no room.
   */
  watch(index: number, value: number): (() => void) | undefined;
  end(): void;
}

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

/** Waits longer than this are worth a poller. */
const LONG_MS = 1000;
/** A poller ends after it had nothing to watch for this time. */
const IDLE_MS = 10_000;
/**
 * The longest pause before another poller is tried. A poller that worked this long did not fail.
 */
const MOST_PAUSE_MS = 300_000;

type StartPoller = (buffer: SharedArrayBuffer) => Poller;

/** A poll set that looks rarely while pollers watch all of its events. */
class WatchedPollSet extends PollSet {
  readonly #start: StartPoller;
  /** The pollers by memory, and when each was last seen to have a word to watch. */
  readonly #pollers = new Map<ArrayBufferLike, { readonly poller: Poller; usedMs: number }>();
  /** The functions that end the watches, for events that a poller watches. */
  readonly #watches = new Map<Waiting, () => void>();
  /** Whether all pollers have looked since they were last asked. */
  #areAwake = false;
  #askedMs = 0;
  /** Since when looks have found events. An event that fires leaves only for a moment. */
  #sinceMs = 0;
  /** How long events wait before pollers start: doubled with each failure. */
  #backoffMs = LONG_MS;
  #startedMs = 0;
  #isIdle = true;

  constructor(everyMs: number, start: StartPoller) {
    super(everyMs);
    this.#start = start;
  }

  override add(event: Waiting): void {
    if (this.#isIdle) this.#sinceMs = timers.nowMs();
    this.#isIdle = false;
    this.#watch(event);
    super.add(event);
  }

  override remove(event: Waiting): void {
    this.#watches.get(event)?.();
    this.#watches.delete(event);
    super.remove(event);
  }

  #watch(event: Waiting): void {
    const end = this.#pollers.get(event.buffer)?.poller.watch(event.index, event.value);
    if (end !== undefined) this.#watches.set(event, end);
  }

  protected override get pauseMs(): number {
    const areAllWatched = this.#areAwake && this.#watches.size === this.events.size;
    return areAllWatched ? Math.max(this.everyMs, LONG_MS) : this.everyMs;
  }

  /** Starts pollers once they are worth it, and ends those that have stopped looking. */
  protected override looked(): void {
    if (this.everyMs >= LONG_MS) return;
    const sinceMs = this.#sinceMs;
    if (this.events.size === 0) {
      this.#isIdle = true;
      if (this.#pollers.size > 0) timers.start(() => this.#rest(sinceMs), IDLE_MS, false);
      return;
    }
    const nowMs = timers.nowMs();
    if (this.#pollers.size === 0) {
      if (nowMs - sinceMs < this.#backoffMs) return;
      this.#startedMs = nowMs;
    } else if (!this.#areAwake || nowMs - this.#askedMs >= LONG_MS) {
      const wereAwake = this.#areAwake;
      this.#areAwake = [...this.#pollers.values()].every(({ poller }) => poller.isAwake);
      this.#askedMs = nowMs;
      if (wereAwake && !this.#areAwake) {
        this.#fail(nowMs);
        return;
      }
      this.#endUnused(nowMs);
    }
    if (this.#watches.size < this.events.size) this.#watchAll(nowMs);
  }

  /** Ends pollers that have stopped looking. The pause before the next ones grows each time. */
  #fail(nowMs: number): void {
    const hasWorked = nowMs - this.#startedMs >= MOST_PAUSE_MS;
    this.#backoffMs = hasWorked ? LONG_MS : Math.min(2 * this.#backoffMs, MOST_PAUSE_MS);
    this.#end();
  }

  #watchAll(nowMs: number): void {
    for (const event of this.events) {
      if (this.#watches.has(event)) continue;
      const { buffer } = event;
      if (!this.#pollers.has(buffer)) {
        this.#pollers.set(buffer, { poller: this.#start(buffer), usedMs: nowMs });
        this.#areAwake = false;
      }
      this.#watch(event);
    }
  }

  /** Ends the pollers of memory that is no longer used, because they would keep it alive. */
  #endUnused(nowMs: number): void {
    const used = new Set<ArrayBufferLike>(Array.from(this.events, ({ buffer }) => buffer));
    for (const [buffer, one] of this.#pollers) {
      if (used.has(buffer)) one.usedMs = nowMs;
      else if (nowMs - one.usedMs >= IDLE_MS) {
        one.poller.end();
        this.#pollers.delete(buffer);
      }
    }
  }

  /** Ends the pollers unless an event was added meanwhile. */
  #rest(sinceMs: number): void {
    if (this.events.size === 0 && this.#sinceMs === sinceMs) this.#end();
  }

  #end(): void {
    for (const { poller } of this.#pollers.values()) poller.end();
    this.#pollers.clear();
    this.#watches.clear();
    this.#areAwake = false;
    this.#sinceMs = timers.nowMs();
  }
}

/** Lets waits for other processes use pollers. */
export function pollWith(start: StartPoller): void {
  createPollSetsBy((everyMs) => new WatchedPollSet(everyMs, start));
}
