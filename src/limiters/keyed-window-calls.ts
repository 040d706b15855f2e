import type { Key } from '../kernel/keyed/hash.ts';
import type { Decision } from './decision.ts';
import { Described } from './described.ts';
import type { KeyWindow } from './key-window.ts';
import type { BlockingWaitOptions, Waited, WaitOptions } from './limiter.ts';
import { type TierOptions, tierOf, withoutTier } from './tiers.ts';

/** The methods of a window with the key as first argument, forwarded to that key's window. */
export abstract class KeyedWindowCalls extends Described {
  /** The window of one key, valid for one call. @internal */
  protected abstract of(key: Key, options?: TierOptions): KeyWindow;

  /** Returns the window of one key as a limiter. */
  abstract for(key: Key, options?: TierOptions): KeyWindow;

  /** Takes `n` tokens now, or none. */
  tryConsume(key: Key, n?: number, options?: TierOptions): boolean {
    return this.of(key, options).tryConsume(n);
  }

  /** Takes as many tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(key: Key, n: number, options?: TierOptions): number {
    return this.of(key, options).consumeOrDrain(n);
  }

  /** Takes `n` tokens now or none, and reports the state of the key's window. */
  decide(key: Key, n?: number, options?: TierOptions): Decision {
    return this.of(key, options).decide(n);
  }

  /** Returns the tokens that can be taken now. */
  available(key: Key, options?: TierOptions): number {
    return this.of(key, options).available();
  }

  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can.
   */
  timeUntil(key: Key, tokens: number, options?: TierOptions): number {
    return this.of(key, options).timeUntil(tokens);
  }

  /** Waits until `n` tokens are available, and takes them: see {@link KeyWindow.wait}. */
  async wait(key: Key, n?: number, options?: WaitOptions & TierOptions): Promise<Waited> {
    // The line tries again later, when the shared object may be turned to another key.
    return this.for(key, tierOf(options)).wait(n, withoutTier<WaitOptions>(options));
  }

  /** Blocks until `n` tokens are available, and takes them: see {@link KeyWindow.waitSync}. */
  waitSync(key: Key, n?: number, options?: BlockingWaitOptions & TierOptions): boolean {
    return this.of(key, tierOf(options)).waitSync(n, withoutTier<BlockingWaitOptions>(options));
  }

  /** Takes `n` tokens, into debt if necessary: see {@link KeyWindow.charge}. */
  charge(key: Key, n: number, options?: TierOptions): number {
    return this.of(key, options).charge(n);
  }

  /** Refuses a key for `ms` milliseconds: see {@link KeyWindow.block}. */
  block(key: Key, ms: number): boolean {
    return this.of(key).block(ms);
  }

  /** Resets the count of a key, which ends a block or debt: see {@link KeyWindow.reset}. */
  reset(key: Key): void {
    this.of(key).reset();
  }
}
