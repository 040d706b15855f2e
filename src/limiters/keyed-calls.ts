import type { Key } from '../kernel/keyed/message.ts';
import type { Decision } from './decision.ts';
import type { WaitOptions } from './limiter.ts';

/** Whether a bucket answers at once, or with a promise. */
type Mode = 'sync' | 'async';
type Answer<How extends Mode, T> = How extends 'async' ? Promise<T> : T;

/** What every key's bucket can do. `Promised` is what `reserve` returns. */
export interface CallsOfKey<How extends Mode, Promised> {
  tryConsume(n?: number): Answer<How, boolean>;
  consumeOrDrain(n: number): Answer<How, number>;
  decide(n?: number): Answer<How, Decision>;
  acquire(n?: number, maxWaitMs?: number): Answer<How, number>;
  reserve(n?: number, options?: { readonly maxWaitMs?: number }): Answer<How, Promised | undefined>;
  wait(n?: number, options?: WaitOptions): Promise<void>;
  returnTokens(n: number): Answer<How, void>;
  available(): Answer<How, number>;
  balance(): Answer<How, number>;
  timeUntil(tokens: number): Answer<How, number>;
}

/** The calls of a bucket, with a key in front: each goes to the bucket of its key. */
export abstract class KeyedCalls<How extends Mode, Promised> {
  /** The bucket of one key, for one call. @internal */
  protected abstract of(key: Key): CallsOfKey<How, Promised>;

  /** Takes `n` tokens now, or none. */
  tryConsume(key: Key, n?: number): Answer<How, boolean> {
    return this.of(key).tryConsume(n);
  }

  /** Takes as many whole tokens as there are, at most `n`, and returns how many. */
  consumeOrDrain(key: Key, n: number): Answer<How, number> {
    return this.of(key).consumeOrDrain(n);
  }

  /** Takes `n` tokens now or none, and reports the state of the key's bucket. */
  decide(key: Key, n?: number): Answer<How, Decision> {
    return this.of(key).decide(n);
  }

  /**
   * Takes `n` tokens if they will be there within `maxWaitMs`, and returns the milliseconds to wait
   * before acting. Otherwise takes nothing and returns `REFUSED`.
   */
  acquire(key: Key, n?: number, maxWaitMs?: number): Answer<How, number> {
    return this.of(key).acquire(n, maxWaitMs);
  }

  /**
   * Takes `n` tokens that will be there within `maxWaitMs`, to be used at the instant that the
   * reservation names; undefined, taking nothing, if they will not.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  reserve(
    key: Key,
    n?: number,
    options?: { readonly maxWaitMs?: number },
  ): Answer<How, Promised | undefined> {
    return this.of(key).reserve(n, options);
  }

  /**
   * Resolves when `n` tokens are there for this caller, in the order in which callers of the key
   * asked.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` if the wait would outlast `timeoutMs`;
   * `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  async wait(key: Key, n?: number, options?: WaitOptions): Promise<void> {
    // The tokens are reserved before this returns; the wait itself no longer needs the key.
    return this.of(key).wait(n, options);
  }

  /** Returns tokens that were taken and not used; the bucket never gets fuller than full. */
  returnTokens(key: Key, n: number): Answer<How, void> {
    return this.of(key).returnTokens(n);
  }

  /** Tokens that can be taken now, fractions included: `balance`, or 0 in debt. */
  available(key: Key): Answer<How, number> {
    return this.of(key).available();
  }

  /** Tokens in the key's bucket, fractions included: negative in debt, Infinity where unlimited. */
  balance(key: Key): Answer<How, number> {
    return this.of(key).balance();
  }

  /**
   * Milliseconds until the key's bucket holds `tokens`, if nobody takes any: 0 if it does now,
   * Infinity if it never will.
   */
  timeUntil(key: Key, tokens: number): Answer<How, number> {
    return this.of(key).timeUntil(tokens);
  }
}
