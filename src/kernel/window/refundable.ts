import { INDEX_BITS, INDEX_MASK } from '../../memory/layout.ts';
import { WINDOW_OUTCOME } from '../constants.ts';
import { HostedWindow } from './host.ts';
import type { ClockReader, RefundableWindowKernel } from './kernel.ts';

/**
 * A window whose tokens can be returned to the window or slot in which this thread took them. The
 * word's bits above the count, and the record's index, identify that.
 */
export abstract class HostedRefundableWindow
  extends HostedWindow
  implements RefundableWindowKernel
{
  #lowMask = 0;
  #highMask = 0;
  // The identity of the window or slot of this thread's latest admission, and its tokens there.
  #low = 0;
  #high = 0;
  #mine = 0;

  /** Sets how many of the word's bits identify the window or slot: those above the count. */
  protected identifyBy(countBits: number): void {
    const at = countBits + INDEX_BITS + 1;
    this.#lowMask = (at >= 32 ? 0 : -1 << at) | INDEX_MASK;
    this.#highMask = at <= 32 ? -1 : -1 << (at - 32);
  }

  /** Notes tokens counted under a word. */
  protected remember(tokens: number, low: number, high: number): void {
    if (!this.#isMine(low, high)) {
      this.#low = low & this.#lowMask;
      this.#high = high & this.#highMask;
      this.#mine = 0;
    }
    this.#mine += tokens;
  }

  #isMine(low: number, high: number): boolean {
    return (low & this.#lowMask) === this.#low && (high & this.#highMask) === this.#high;
  }

  protected override forget(tokens: number): void {
    this.#mine -= tokens;
  }

  /** Attempts once to put back tokens; returns their number, or an outcome of the engine. */
  protected abstract giveBack(tokens: number, nowUs: number): number;

  /** Puts back tokens that this thread took in the current window; returns their number. */
  returnTokens(tokens: number, clock: ClockReader): number {
    const { seen } = this;
    for (;;) {
      seen.lookThenRead(clock);
      const most = this.#isMine(seen.low, seen.high) ? Math.min(tokens, this.#mine) : 0;
      if (most <= 0) return 0;
      const returned = this.giveBack(most, clock.us);
      if (returned >= 0) {
        this.#mine -= returned;
        return returned;
      }
      if (returned === WINDOW_OUTCOME.changed) this.refresh();
    }
  }
}
