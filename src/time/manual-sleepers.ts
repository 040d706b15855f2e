import type { Bell } from '../memory/bell.ts';
import { LoopHold } from './loop-hold.ts';
import { onAbort } from './on-abort.ts';

interface Sleeper {
  readonly untilUs: number;
  readonly ref: boolean;
  readonly wake: () => void;
}

/** This thread's async sleepers on a clock that is moved by hand. */
export class ManualSleepers {
  /** Rings whenever the time changes. */
  readonly #moves: Bell;
  readonly #now: () => number;
  readonly #sleepers = new Set<Sleeper>();
  #cancelLook: (() => void) | undefined;
  readonly #loop = new LoopHold();

  constructor(moves: Bell, now: () => number) {
    this.#moves = moves;
    this.#now = now;
  }

  /** The instant at which the next one wakes; Infinity if none sleeps. */
  nextUs(): number {
    let nextUs = Number.POSITIVE_INFINITY;
    for (const { untilUs } of this.#sleepers) nextUs = Math.min(nextUs, untilUs);
    return nextUs;
  }

  /** Resolves when the clock reaches a future instant. */
  sleep(
    untilUs: number,
    { ref, signal }: { readonly ref: boolean; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const unlink = onAbort(signal, (reason) => {
        this.#remove(sleeper);
        this.#restIfAlone();
        reject(reason);
      });
      const wake = () => {
        unlink();
        resolve();
      };
      const sleeper: Sleeper = { untilUs, ref, wake };
      this.#sleepers.add(sleeper);
      if (ref) this.#loop.take();
      if (this.#cancelLook === undefined) this.#look();
    });
  }

  /** Wakes the sleepers that are due, and looks again when the clock moves. */
  #look(): void {
    // Request the alarm before reading the time, so that no move is missed.
    const alarm = this.#moves.alarm();
    const nowUs = this.#now();
    for (const sleeper of this.#sleepers) {
      if (nowUs < sleeper.untilUs) continue;
      this.#remove(sleeper);
      sleeper.wake();
    }
    this.#cancelLook = this.#moves.onRing(alarm, () => this.#look());
    this.#restIfAlone();
  }

  #remove(sleeper: Sleeper): void {
    if (this.#sleepers.delete(sleeper) && sleeper.ref) this.#loop.release();
  }

  #restIfAlone(): void {
    if (this.#sleepers.size > 0) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }
}
