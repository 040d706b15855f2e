import type { Stock } from './stock.ts';

/** Time between two checks. Each check asks the buyer for a sign of life. */
const LOOK_MS = 200;
/**
 * Checks without a sign of life until the epoch is ended. The leader may only be blocked.
 */
const SILENT_LOOKS = 4;
/** Further checks without a successor until callers are refused, if the buyer has ended. */
const VACANT_LOOKS = 3;
/** Checks after a call that found too few tokens. */
const SHORT_LOOKS = 10;

/**
 * Makes sure that a stock for which this thread waits has a buyer. Checks are counted, not timed:
 * after this thread itself was suspended, the buyer still gets time to respond. Does not keep the
 * event loop alive.
 */
export class Watch {
  readonly #stock: Stock;
  readonly #waiting: () => number;
  readonly #giveUp: () => void;
  #looksLeft = 0;
  #isRunning = false;
  #beats = 0;
  #silentLooks = 0;
  #vacantLooks = 0;

  /**
   * @param waiting returns the number of waiting callers of this thread
   * @param giveUp called when the stock has no buyer and no successor came, or this thread has left it
   */
  constructor(stock: Stock, waiting: () => number, giveUp: () => void) {
    this.#stock = stock;
    this.#waiting = waiting;
    this.#giveUp = giveUp;
  }

  /** Called when a caller of this thread has too few tokens. */
  start(): void {
    this.#looksLeft = SHORT_LOOKS;
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#silentLooks = 0;
    this.#vacantLooks = 0;
    this.#beats = this.#stock.leader.beats;
    this.#ask();
  }

  #ask(): void {
    this.#stock.leader.event.fire();
    setTimeout(() => this.#look(), LOOK_MS).unref();
  }

  #look(): void {
    const { leader } = this.#stock;
    // The thread that closed the stock may have ended before it woke the waiters.
    if (leader.isClosed && this.#waiting() > 0) this.#stock.wakeAll();
    if (this.#stock.hasLeft) this.#giveUp();
    this.#looksLeft--;
    this.#isRunning = !this.#stock.isClosed && (this.#looksLeft > 0 || this.#waiting() > 0);
    if (!this.#isRunning) return;
    // The buyer may be stopped.
    this.#stock.passOn();
    const { epoch, beats } = leader;
    if (beats !== this.#beats) {
      this.#beats = beats;
      this.#silentLooks = 0;
      this.#vacantLooks = 0;
    } else if (!leader.isVacant) {
      this.#silentLooks++;
      const isGone = this.#silentLooks >= SILENT_LOOKS || leader.doesBuyerRun === false;
      if (isGone) leader.vacate(epoch);
    } else {
      this.#vacantLooks++;
      if (this.#vacantLooks >= VACANT_LOOKS && !this.#stock.mayBeFilled) {
        this.#vacantLooks = 0;
        this.#giveUp();
      }
    }
    this.#ask();
  }
}
