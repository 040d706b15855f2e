import type { Key } from '../kernel/keyed/hash.ts';
import { type TierOptions, tierOf, type WithoutTiers, withoutTier } from './keyed-table.ts';
import type { Waited, WaitOptions } from './limiter.ts';
import { type Decision, Described } from './state.ts';

/** Whether a bucket answers at once or with a promise. */
type Mode = 'sync' | 'async';
type Answer<How extends Mode, T> = How extends 'async' ? Promise<T> : T;

/** Options of `reserve`. */
interface ReserveOptions {
  readonly maxWaitMs?: number;
}

/** The methods of one key's bucket. `Promised` is the reservation's type. */
export interface CallsOfKey<How extends Mode, Promised> {
  tryConsume(n?: number): Answer<How, boolean>;
  consumeOrDrain(n: number): Answer<How, number>;
  decide(n?: number): Answer<How, Decision>;
  acquire(n?: number, maxWaitMs?: number): Answer<How, number>;
  reserve(n?: number, options?: ReserveOptions): Answer<How, Promised | undefined>;
  wait(n?: number, options?: WaitOptions): Promise<Waited>;
  returnTokens(n: number): Answer<How, void>;
  available(): Answer<How, number>;
  balance(): Answer<How, number>;
  timeUntil(tokens: number): Answer<How, number>;
}

/**
 * The methods of a bucket with the key as first argument, forwarded to that key's bucket. `Choice`
 * are the options of each call.
 */
export abstract class KeyedCalls<
  How extends Mode,
  Promised,
  Choice extends TierOptions = WithoutTiers,
> extends Described {
  /** Returns the bucket of one key, valid for one call. @internal */
  protected abstract of(key: Key, options?: Choice): CallsOfKey<How, Promised>;

  /** Takes `n` tokens now, or none. */
  tryConsume(key: Key, n?: number, options?: Choice): Answer<How, boolean> {
    return this.of(key, options).tryConsume(n);
  }

  /** Takes as many whole tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(key: Key, n: number, options?: Choice): Answer<How, number> {
    return this.of(key, options).consumeOrDrain(n);
  }

  /** Takes `n` tokens now or none, and reports the state of the key's bucket. */
  decide(key: Key, n?: number, options?: Choice): Answer<How, Decision> {
    return this.of(key, options).decide(n);
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs` (default `Infinity`), and returns the
   * milliseconds to wait before acting. Otherwise takes nothing and returns `REFUSED`.
   */
  acquire(key: Key, n?: number, maxWaitMs?: number, options?: Choice): Answer<How, number> {
    return this.of(key, options).acquire(n, maxWaitMs);
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs` (default `Infinity`) and returns a
   * reservation: act at its instant. Otherwise takes nothing and returns undefined.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  reserve(
    key: Key,
    n?: number,
    options?: ReserveOptions & Choice,
  ): Answer<How, Promised | undefined> {
    return this.of(key, tierOf(options) as Choice).reserve(n, withoutTier<ReserveOptions>(options));
  }

  /**
   * Waits until `n` tokens are available for this caller. Callers of the same key are served in
   * order. `maxWaiting` counts the callers of this key.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` if the wait would exceed `timeoutMs`;
   * `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens; `ERR_QUEUE_FULL` if `maxWaiting`
   * callers already wait.
   */
  async wait(key: Key, n?: number, options?: WaitOptions & Choice): Promise<Waited> {
    // The tokens are reserved before the first await, so the shared object may turn to another key.
    return this.of(key, tierOf(options) as Choice).wait(n, withoutTier<WaitOptions>(options));
  }

  /** Returns tokens that you took and did not use; the bucket never holds more than the burst. */
  returnTokens(key: Key, n: number, options?: Choice): Answer<How, void> {
    return this.of(key, options).returnTokens(n);
  }

  /** Returns the tokens that can be taken now: `balance`, or 0 in debt. */
  available(key: Key, options?: Choice): Answer<How, number> {
    return this.of(key, options).available();
  }

  /** Returns the tokens in the key's bucket: negative in debt, Infinity if unlimited. */
  balance(key: Key, options?: Choice): Answer<How, number> {
    return this.of(key, options).balance();
  }

  /**
   * Returns the milliseconds until the key's bucket holds `tokens` if no one takes any: 0 if it
   * does now, Infinity if it never will.
   */
  timeUntil(key: Key, tokens: number, options?: Choice): Answer<How, number> {
    return this.of(key, options).timeUntil(tokens);
  }
}
