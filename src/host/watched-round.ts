import { createRoundsBy, onTimer, Round, type Waiting } from '../memory/bell.ts';
import { timers } from '../memory/runtime.ts';

/** Waits longer than this are worth a lookout. */
const LONG_MS = 1000;
/** A lookout ends after it had nothing to watch for this time. */
const IDLE_MS = 10_000;
/**
 * The longest pause before another lookout is tried. A lookout that worked this long did not fail.
 */
const MOST_PAUSE_MS = 300_000;

/** Watches words for a thread and notifies those that change, so that the thread can rest. */
export interface Lookout {
  /** Whether it has looked since this was last read. */
  readonly isAwake: boolean;
  /**
   * Watches the word at an index of its memory for a change from `value`. The returned function
   * ends the watch. Undefined if it has no room.
   */
  watch(place: number, value: number): (() => void) | undefined;
  end(): void;
}

type StartLookout = (buffer: SharedArrayBuffer) => Lookout;

/** A round that looks rarely while lookouts watch all of its bells. */
class WatchedRound extends Round {
  readonly #start: StartLookout;
  readonly #lookouts = new Map<ArrayBufferLike, Lookout>();
  /** The functions that end the watches, for bells that a lookout watches. */
  readonly #watches = new Map<Waiting, () => void>();
  /** When each lookout was last seen to have a word to watch. */
  readonly #usedMs = new Map<Lookout, number>();
  /** Whether all lookouts have looked since they were last asked. */
  #areAwake = false;
  #askedMs = 0;
  /** Since when looks have found bells. A bell that rings leaves only for a moment. */
  #sinceMs = 0;
  /** How long bells wait before lookouts start: doubled with each failure. */
  #patienceMs = LONG_MS;
  #startedMs = 0;
  #isIdle = true;

  constructor(everyMs: number, start: StartLookout) {
    super(everyMs);
    this.#start = start;
  }

  override add(bell: Waiting): void {
    if (this.#isIdle) this.#sinceMs = timers.nowMs();
    this.#isIdle = false;
    this.#watch(bell);
    super.add(bell);
  }

  override remove(bell: Waiting): void {
    this.#watches.get(bell)?.();
    this.#watches.delete(bell);
    super.remove(bell);
  }

  #watch(bell: Waiting): void {
    const end = this.#lookouts.get(bell.buffer)?.watch(bell.place, bell.value);
    if (end !== undefined) this.#watches.set(bell, end);
  }

  protected override get pauseMs(): number {
    const areAllWatched = this.#areAwake && this.#watches.size === this.bells.size;
    return areAllWatched ? Math.max(this.everyMs, LONG_MS) : this.everyMs;
  }

  /** Starts lookouts once they are worth it, and ends those that have stopped looking. */
  protected override looked(): void {
    if (this.everyMs >= LONG_MS) return;
    const sinceMs = this.#sinceMs;
    if (this.bells.size === 0) {
      this.#isIdle = true;
      if (this.#lookouts.size > 0) onTimer(IDLE_MS, () => this.#rest(sinceMs));
      return;
    }
    const nowMs = timers.nowMs();
    if (this.#lookouts.size === 0) {
      if (nowMs - sinceMs < this.#patienceMs) return;
      this.#startedMs = nowMs;
    } else if (!this.#areAwake || nowMs - this.#askedMs >= LONG_MS) {
      const wereAwake = this.#areAwake;
      this.#areAwake = [...this.#lookouts.values()].every(({ isAwake }) => isAwake);
      this.#askedMs = nowMs;
      if (wereAwake && !this.#areAwake) {
        this.#fail(nowMs);
        return;
      }
      this.#endUnused(nowMs);
    }
    if (this.#watches.size < this.bells.size) this.#watchAll();
  }

  /** Ends lookouts that have stopped looking. The pause before the next ones grows each time. */
  #fail(nowMs: number): void {
    const hasWorked = nowMs - this.#startedMs >= MOST_PAUSE_MS;
    this.#patienceMs = hasWorked ? LONG_MS : Math.min(2 * this.#patienceMs, MOST_PAUSE_MS);
    this.#end();
  }

  #watchAll(): void {
    for (const bell of this.bells) {
      if (this.#watches.has(bell)) continue;
      const { buffer } = bell;
      if (!this.#lookouts.has(buffer)) {
        this.#lookouts.set(buffer, this.#start(buffer));
        this.#areAwake = false;
      }
      this.#watch(bell);
    }
  }

  /** Ends the lookouts of memory that is no longer used, because they would keep it alive. */
  #endUnused(nowMs: number): void {
    const used = new Set<ArrayBufferLike>(Array.from(this.bells, ({ buffer }) => buffer));
    for (const [buffer, lookout] of this.#lookouts) {
      const usedMs = this.#usedMs.get(lookout) ?? nowMs;
      if (used.has(buffer) || !this.#usedMs.has(lookout)) this.#usedMs.set(lookout, nowMs);
      else if (nowMs - usedMs >= IDLE_MS) {
        lookout.end();
        this.#lookouts.delete(buffer);
        this.#usedMs.delete(lookout);
      }
    }
  }

  /** Ends the lookouts unless a bell was added meanwhile. */
  #rest(sinceMs: number): void {
    if (this.bells.size === 0 && this.#sinceMs === sinceMs) this.#end();
  }

  #end(): void {
    for (const lookout of this.#lookouts.values()) lookout.end();
    this.#lookouts.clear();
    this.#usedMs.clear();
    this.#watches.clear();
    this.#areAwake = false;
    this.#sinceMs = timers.nowMs();
  }
}

/** Lets waits for other processes use lookouts. */
export function lookOutWith(start: StartLookout): void {
  createRoundsBy((everyMs) => new WatchedRound(everyMs, start));
}
