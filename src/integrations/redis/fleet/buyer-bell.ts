import { Bell } from '../../../memory/bell.ts';
import { sleepOrWake } from '../../../time/agenda.ts';
import type { Clock } from '../../../time/clock.ts';

/**
 * Wakes the buyer: any thread can ring it. A resting buyer does not keep the event loop alive;
 * callers that wait for tokens do.
 */
export class BuyerBell extends Bell {
  #heard = this.alarm();

  /** Resolves when the bell has rung since the last rest, or when the clock reaches `untilUs`. */
  async rest(clock: Clock, untilUs: number): Promise<void> {
    const onRing = (wake: () => void) => this.onRing(this.#heard, wake);
    // Clocks accept finite instants only.
    if (untilUs === Number.POSITIVE_INFINITY) await new Promise<void>((wake) => void onRing(wake));
    else await sleepOrWake(clock, untilUs, { ref: false }, onRing);
    this.#heard = this.alarm();
  }
}
