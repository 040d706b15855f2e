/** As many waits are ended in one turn of the event loop. */
const ENDS_PER_TURN = 256;
/** Waits that last longer are worth a lookout. */
const LONG_MS = 1000;
/** A lookout ends after it had nothing to watch for this time. */
const IDLE_MS = 10_000;

/** A bell that waits for its word to change. */
interface Waiting {
  readonly buffer: SharedArrayBuffer;
  /** Index of its word in all of the buffer. */
  readonly place: number;
  /** The word's value when it began to wait. */
  readonly value: number;
  /** Ends a wait that serves nobody or has missed a ring; returns whether it did. */
  endStaleWait(): boolean;
}

/** Watches words for a thread, and notifies those that change, so that the thread itself can rest. */
export interface Lookout {
  /** Whether it has looked since this was last asked. */
  readonly isAwake: boolean;
  /**
   * Watches the word at an index of its memory for a change from a value. The returned function ends
   * that. Undefined if it has no room.
   */
  watch(place: number, value: number): (() => void) | undefined;
  end(): void;
}

let startLookout: ((buffer: SharedArrayBuffer) => Lookout) | undefined;

/** Called by `zerotime/host`, which the core does not import. */
export function lookOutWith(start: NonNullable<typeof startLookout>): void {
  startLookout = start;
}

/** A timer that does not keep the event loop alive. */
function onTimer(ms: number, action: () => void): void {
  const timer: { unref?(): void } | number = setTimeout(action, ms);
  if (typeof timer === 'object') timer.unref?.();
}

/**
 * The bells of this thread that end waits after the same time, while they wait. It looks at all of
 * them again and again, unless a lookout does so.
 */
export class Round {
  /** With the end of their watches, if a lookout watches them. */
  readonly #bells = new Map<Waiting, (() => void) | undefined>();
  readonly #everyMs: number;
  readonly #lookouts = new Map<ArrayBufferLike, Lookout>();
  /** Whether all lookouts have looked since they were last asked. */
  #areAwake = false;
  #askedMs = 0;
  /** How many bells no lookout watches. */
  #unwatched = 0;
  /** The next look. */
  #plan: { readonly isSoon: boolean } | undefined;
  /** Since when there are bells. */
  #sinceMs = 0;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  add(bell: Waiting): void {
    if (this.#bells.size === 0) this.#sinceMs = performance.now();
    this.#enter(bell);
    this.#planLook();
  }

  remove(bell: Waiting): void {
    if (!this.#bells.has(bell)) return;
    const end = this.#bells.get(bell);
    if (end === undefined) this.#unwatched--;
    end?.();
    this.#bells.delete(bell);
  }

  #enter(bell: Waiting): void {
    const end = this.#lookouts.get(bell.buffer)?.watch(bell.place, bell.value);
    if (end === undefined) this.#unwatched++;
    this.#bells.set(bell, end);
  }

  /** Plans a look, and replaces one that is far off if it must be soon. */
  #planLook(): void {
    const isSoon = this.#unwatched > 0 || !this.#areAwake;
    if (this.#plan === undefined || (isSoon && !this.#plan.isSoon)) {
      this.#lookAfter(isSoon ? this.#everyMs : Math.max(this.#everyMs, LONG_MS), isSoon);
    }
  }

  #lookAfter(ms: number, isSoon: boolean): void {
    const plan = { isSoon };
    this.#plan = plan;
    onTimer(ms, () => {
      if (this.#plan === plan) this.#look();
    });
  }

  #look(): void {
    this.#plan = undefined;
    let left = ENDS_PER_TURN;
    for (const bell of this.#bells.keys()) if (left > 0 && bell.endStaleWait()) left--;
    if (this.#bells.size === 0) {
      if (this.#lookouts.size > 0) onTimer(IDLE_MS, () => this.#rest(this.#sinceMs));
      return;
    }
    if (left === 0) {
      this.#lookAfter(0, true);
      return;
    }
    this.#askLookouts();
    this.#planLook();
  }

  /** Starts lookouts once they are worth it, and gives up those that have stopped looking. */
  #askLookouts(): void {
    if (startLookout === undefined || this.#everyMs >= LONG_MS) return;
    const nowMs = performance.now();
    if (this.#lookouts.size === 0) {
      if (nowMs - this.#sinceMs < LONG_MS) return;
    } else if (!this.#areAwake || nowMs - this.#askedMs >= LONG_MS) {
      const wereAwake = this.#areAwake;
      this.#areAwake = [...this.#lookouts.values()].every(({ isAwake }) => isAwake);
      this.#askedMs = nowMs;
      if (wereAwake && !this.#areAwake) this.#end();
    }
    if (this.#unwatched > 0) this.#watchAll(startLookout);
  }

  #watchAll(start: NonNullable<typeof startLookout>): void {
    for (const [bell, end] of [...this.#bells]) {
      if (end !== undefined) continue;
      const { buffer } = bell;
      if (!this.#lookouts.has(buffer)) {
        this.#lookouts.set(buffer, start(buffer));
        this.#areAwake = false;
      }
      this.#unwatched--;
      this.#enter(bell);
    }
  }

  /** Ends the lookouts unless there was a bell meanwhile. */
  #rest(sinceMs: number): void {
    if (this.#bells.size === 0 && this.#sinceMs === sinceMs) this.#end();
  }

  #end(): void {
    for (const lookout of this.#lookouts.values()) lookout.end();
    this.#lookouts.clear();
    this.#areAwake = false;
    for (const bell of this.#bells.keys()) this.#bells.set(bell, undefined);
    this.#unwatched = this.#bells.size;
    this.#sinceMs = performance.now();
  }
}

const rounds = new Map<number, Round>();

/** The round of this thread with a period. */
export function roundOf(everyMs: number): Round {
  const round = rounds.get(everyMs) ?? new Round(everyMs);
  rounds.set(everyMs, round);
  return round;
}
