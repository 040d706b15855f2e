/** As many waits are ended in one turn of the event loop. */
const ENDS_PER_TURN = 256;

/** A bell that waits for its word to change. */
export interface Waiting {
  readonly buffer: SharedArrayBuffer;
  /** Index of its word in all of the buffer. */
  readonly place: number;
  /** The word's value when it began to wait. */
  readonly value: number;
  /** Ends a wait that serves nobody or has missed a ring; returns whether it did. */
  endStaleWait(): boolean;
}

/** A timer that does not keep the event loop alive. */
export function onTimer(ms: number, action: () => void): void {
  const timer: { unref?(): void } | number = setTimeout(action, ms);
  if (typeof timer === 'object') timer.unref?.();
}

/**
 * The bells of this thread that end waits after the same time, while they wait. It looks at all of
 * them again and again.
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

  /** The time until the next look. */
  protected get pauseMs(): number {
    return this.everyMs;
  }

  /** Called after each look. */
  protected looked(): void {}

  /** Plans a look, and replaces one that is further off. */
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

/** The round of this thread with a period. */
export function roundOf(everyMs: number): Round {
  const round = rounds.get(everyMs) ?? create(everyMs);
  rounds.set(everyMs, round);
  return round;
}
