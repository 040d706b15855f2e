import type { WindowEngine } from './engine.ts';
import type { ClockReader } from './kernel.ts';

/** A word loaded before the clock is read. */
export class SeenWord {
  readonly #engine: WindowEngine;
  readonly #cell: number;
  low = 0;
  high = 0;

  constructor(engine: WindowEngine, cell: number) {
    this.#engine = engine;
    this.#cell = cell;
  }

  /** Loads the word, then reads the clock. */
  lookThenRead(clock: ClockReader): void {
    const low = this.#engine.windowLook(this.#cell);
    const high = this.#engine.windowSeenHigh();
    clock.read();
    // Store only now, because the clock may have called this limiter.
    this.low = low;
    this.high = high;
  }
}
