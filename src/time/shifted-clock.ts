import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';

/**
 * A clock that runs with another one, and differs from it by a constant. A region that outlived a
 * restart of the machine has one, because the system's clock begins anew with each start.
 */
class ShiftedClock implements Clock {
  readonly name: string;
  readonly nonce?: number;
  readonly handle: ClockHandle;
  readonly now: () => number;
  readonly #clock: Clock;
  readonly #shiftUs: number;

  constructor(clock: Clock, shiftUs: number) {
    this.#clock = clock;
    this.#shiftUs = shiftUs;
    this.name = clock.name;
    if (clock.nonce !== undefined) this.nonce = clock.nonce;
    this.handle = clock.handle;
    this.now = () => clock.now() + shiftUs;
  }

  sleep(untilUs: number, options?: SleepOptions): Promise<void> {
    return this.#clock.sleep(untilUs - this.#shiftUs, options);
  }

  sleepSync(untilUs: number, options?: BlockingSleepOptions): void {
    this.#clock.sleepSync(untilUs - this.#shiftUs, options);
  }
}

/** By the clock that they run with, and their shift: sleepers on one object share a timer. */
const known = new WeakMap<Clock, Map<number, Clock>>();

/** The clock that is ahead of another by `shiftUs`. */
export function shifted(clock: Clock, shiftUs: number): Clock {
  const clocks = known.get(clock) ?? new Map<number, Clock>();
  known.set(clock, clocks);
  const made = clocks.get(shiftUs) ?? new ShiftedClock(clock, shiftUs);
  clocks.set(shiftUs, made);
  return made;
}
