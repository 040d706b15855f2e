import type { Bell } from '../memory/bell.ts';
import { onAbort } from './on-abort.ts';

/** Period of the timer that keeps the event loop alive; it does nothing when it fires. */
const KEEP_ALIVE_MS = 2 ** 30;

interface Sleeper {
  readonly untilUs: number;
  readonly wake: () => void;
}

/** The async sleepers of one thread on a clock that is moved by hand. */
export class ManualSleepers {
  /** Rings whenever the time changes. */
  readonly #moves: Bell;
  readonly #now: () => number;
  readonly #sleepers = new Set<Sleeper>();
  #cancelLook: (() => void) | undefined;
  #keepAlive: ReturnType<typeof setInterval> | undefined;

  constructor(moves: Bell, now: () => number) {
    this.#moves = moves;
    this.#now = now;
  }

  /** The instant at which the next one wakes; Infinity if that is no matter of time. */
  nextUs(): number {
    let nextUs = Number.POSITIVE_INFINITY;
    for (const { untilUs } of this.#sleepers) nextUs = Math.min(nextUs, untilUs);
    return nextUs;
  }

  /** Resolves when the clock reaches an instant that is not yet reached. */
  sleep(untilUs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const unlink = onAbort(signal, (reason) => {
        this.#sleepers.delete(sleeper);
        this.#restIfAlone();
        reject(reason);
      });
      const wake = () => {
        unlink();
        resolve();
      };
      const sleeper: Sleeper = { untilUs, wake };
      this.#sleepers.add(sleeper);
      this.#keepAlive ??= setInterval(() => undefined, KEEP_ALIVE_MS);
      if (this.#cancelLook === undefined) this.#look();
    });
  }

  /** Wakes the sleepers that are due, and looks again when the clock moves. */
  #look(): void {
    // Before reading the time, so that no move in between is missed.
    const alarm = this.#moves.alarm();
    const nowUs = this.#now();
    for (const sleeper of this.#sleepers) {
      if (nowUs < sleeper.untilUs) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
    this.#cancelLook = this.#moves.onRing(alarm, () => this.#look());
    this.#restIfAlone();
  }

  #restIfAlone(): void {
    if (this.#sleepers.size > 0) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    clearInterval(this.#keepAlive);
    this.#keepAlive = undefined;
  }
}
