import { createPollSetsBy, PollSet, type Waiting } from '../memory/event.ts';
import { timers } from '../memory/runtime.ts';

/** Waits longer than this are worth a poller. */
const LONG_MS = 1000;
/** A poller ends after it had nothing to watch for this time. */
const IDLE_MS = 10_000;
/**
 * The longest pause before another poller is tried. A poller that worked this long did not fail.
 */
const MOST_PAUSE_MS = 300_000;

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
