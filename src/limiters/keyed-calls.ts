import type { Key } from '../kernel/keyed/hash.ts';
import { type TierOptions, tierOf, type WithoutTiers, withoutTier } from './keyed-table.ts';
import type { Waited, WaitOptions } from './limiter.ts';
import { type Decision, Described } from './state.ts';
import { WAIT } from './waiting.ts';

/** Whether a limiter answers at once or with a promise. */
type Mode = 'sync' | 'async';
type Answer<How extends Mode, T> = How extends 'async' ? Promise<T> : T;

/** The methods of one key's limiter. */
export interface CallsOfKey<How extends Mode> {
  tryConsume(n?: number): Answer<How, boolean>;
  consumeOrDrain(n: number): Answer<How, number>;
  decide(n?: number): Answer<How, Decision>;
  wait(n?: number, options?: WaitOptions): Promise<Waited>;
  available(): Answer<How, number>;
  timeUntil(tokens: number): Answer<How, number>;
}

/**
 * The methods of a limiter with the key as first argument, forwarded to that key's limiter, a
 * `One`. `Choice` are the options of each call.
 */
export abstract class KeyedCalls<
  How extends Mode,
  One extends CallsOfKey<How>,
  Choice extends TierOptions = WithoutTiers,
> extends Described {
  /** Returns the limiter of one key, valid for one call. @internal */
  protected abstract of(key: Key, options?: Choice): One;

  /** Takes `n` tokens now, or none. */
  tryConsume(key: Key, n?: number, options?: Choice): Answer<How, boolean> {
    return this.of(key, options).tryConsume(n);
  }

  /** Takes as many whole tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(key: Key, n: number, options?: Choice): Answer<How, number> {
    return this.of(key, options).consumeOrDrain(n);
  }

  /** Takes `n` tokens now or none, and reports the state of the key's limiter. */
  decide(key: Key, n?: number, options?: Choice): Answer<How, Decision> {
    return this.of(key, options).decide(n);
  }

  /**
   * Waits until `n` tokens are available for this caller, and takes them. Callers of the same key
   * are served in order, except that a reset of the key may serve those first who need fewer.
   * `maxWaiting` counts the callers of this key.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` if the wait would exceed `timeoutMs`;
   * `ERR_EXCEEDS_BURST` if `n` tokens can never be granted; `ERR_QUEUE_FULL` if `maxWaiting`
   * callers already wait.
   */
  async wait(key: Key, n?: number, options?: WaitOptions & Choice): Promise<Waited> {
    return this.of(key, tierOf(options) as Choice).wait(n, withoutTier<WaitOptions>(options, WAIT));
  }

  /** Returns the tokens that can be taken now: 0 in debt. */
  available(key: Key, options?: Choice): Answer<How, number> {
    return this.of(key, options).available();
  }

  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can.
   */
  timeUntil(key: Key, tokens: number, options?: Choice): Answer<How, number> {
    return this.of(key, options).timeUntil(tokens);
  }
}
