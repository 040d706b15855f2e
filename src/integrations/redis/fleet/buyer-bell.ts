import { Bell } from '../../../memory/bell.ts';
import type { Clock } from '../../../time/clock.ts';
import { sleepOrWake } from '../../../time/sleep-or-wake.ts';

/** Wakes the buyer: any thread rings it, and the buyer's thread rests until then. */
export class BuyerBell extends Bell {
  #heard = this.alarm();

  /** Resolves when it has rung since the last rest, or when the clock has reached `untilUs`. */
  async rest(clock: Clock, untilUs: number): Promise<void> {
    const onRing = (wake: () => void) => this.onRing(this.#heard, wake);
    // A sleep keeps the event loop alive, so a rest without an end is none.
    if (untilUs === Number.POSITIVE_INFINITY) await new Promise<void>((wake) => void onRing(wake));
    else await sleepOrWake(clock, untilUs, {}, onRing);
    this.#heard = this.alarm();
  }
}
