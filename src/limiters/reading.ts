import type { ClockReader } from '../kernel/window/host.ts';
import type { Clock } from '../time/clock.ts';

/** Reads a clock and keeps the latest reading. */
export class Reading implements ClockReader {
  readonly #clock: Clock;
  us = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(): void {
    this.us = this.#clock.now();
  }
}
