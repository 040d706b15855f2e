import { timers } from './timers.ts';

/** Waits that are ended in one turn of the event loop. */
const ENDS_PER_TURN = 256;

/** A bell waiting for its word to change. */
export interface Waiting {
  readonly buffer: SharedArrayBuffer;
  /** Index of its word in the whole buffer. */
  readonly place: number;
  /** The value that its word had when it began to wait. */
  readonly value: number;
  /** Ends a wait without sleepers, or one that missed a ring; returns whether it did. */
  endStaleWait(): boolean;
}

/** Starts a timer that does not keep the event loop alive. */
export function onTimer(ms: number, action: () => void): void {
  const timer: { unref?(): void } | number = timers.start(action, ms);
  if (typeof timer === 'object') timer.unref?.();
}

/**
 * The waiting bells of this thread with the same period. It looks at all of them once per period.
 */
export class Round {
  protected readonly bells = new Set<Waiting>();
  protected readonly everyMs: number;
  /** The next look. */
  #plan: { readonly afterMs: number } | undefined;

  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  add(bell: Waiting): void {
    this.bells.add(bell);
    this.#planLook();
  }

  remove(bell: Waiting): void {
    this.bells.delete(bell);
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
    onTimer(afterMs, () => {
      if (this.#plan === plan) this.#look();
    });
  }

  #look(): void {
    this.#plan = undefined;
    let left = ENDS_PER_TURN;
    for (const bell of this.bells) if (left > 0 && bell.endStaleWait()) left--;
    if (left === 0) {
      this.#lookAfter(0);
      return;
    }
    this.looked();
    if (this.bells.size > 0) this.#planLook();
  }
}

let create = (everyMs: number): Round => new Round(everyMs);

/** Called by `zerotime/host`, which the core does not import. */
export function createRoundsBy(other: typeof create): void {
  create = other;
}

const rounds = new Map<number, Round>();

/** This thread's round with a period. */
export function roundOf(everyMs: number): Round {
  const round = rounds.get(everyMs) ?? create(everyMs);
  rounds.set(everyMs, round);
  return round;
}
