import { Bell } from '../../../memory/bell.ts';
import type { Clock } from '../../../time/clock.ts';
import { sleepOrWake } from '../../../time/sleep-or-wake.ts';

/**
 * Wakes the buyer: any thread rings it, and the buyer's thread rests until then. A rest does not keep
 * the event loop alive: those who wait for tokens do.
 */
export class BuyerBell extends Bell {
  #heard = this.alarm();

  /** Resolves when it has rung since the last rest, or when the clock has reached `untilUs`. */
  async rest(clock: Clock, untilUs: number): Promise<void> {
    const onRing = (wake: () => void) => this.onRing(this.#heard, wake);
    // Clocks count to a finite instant.
    if (untilUs === Number.POSITIVE_INFINITY) await new Promise<void>((wake) => void onRing(wake));
    else await sleepOrWake(clock, untilUs, { ref: false }, onRing);
    this.#heard = this.alarm();
  }
}
