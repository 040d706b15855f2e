import { checkTokens } from '../options.ts';
import { BucketPart } from './bucket-part.ts';
import { type Decision, decisionOf } from './decision.ts';
import type { Description } from './described.ts';

/** The calls on a bucket that never wait. */
export abstract class BucketTakes extends BucketPart {
  /** @internal */
  protected describe(): Description {
    return ['Bucket', { rate: this.rate, burst: this.limit, ...this.contents() }];
  }

  /** The state for {@link Described}. @internal */
  protected contents(): { readonly tokens: number; readonly debt: number | undefined } {
    const balance = this.balance();
    return { tokens: Math.max(0, balance), debt: balance < 0 ? -balance : undefined };
  }

  /** The current rate, in tokens per second. */
  get rate(): number {
    return this.seek().schedule().rate;
  }

  /** The burst: the largest number of tokens in the bucket, and the most that one call can take. */
  get limit(): number {
    return this.seek().schedule().burst;
  }

  /** Takes `n` tokens now and returns true, or takes none and returns false. */
  tryConsume(n = 1): boolean {
    checkTokens('n', n);
    return this.seek().acquire(this.clock.now(), n, 0) === 0;
  }

  /** Takes as many whole tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(n: number): number {
    checkTokens('n', n);
    return this.seek().drain(this.clock.now(), n);
  }

  /**
   * Takes `n` tokens now or none, and reports the state of the limiter. `decide(0)` only looks: it
   * takes nothing and is always allowed.
   */
  decide(n = 1): Decision {
    checkTokens('n', n);
    return decisionOf(this.seek().decide(this.clock.now(), n));
  }

  /**
   * Takes `n` tokens even if the bucket has fewer or the burst is smaller, and returns the
   * milliseconds until it is out of debt: 0 if it had enough. Use it for work whose cost you learn
   * afterwards, or as a penalty: later callers wait until the debt is paid.
   *
   * All other calls together still admit at most burst + rate * t tokens in any t seconds; a charge
   * counts from when it is paid.
   *
   * @throws RangeError, TypeError if `n` is not a finite number >= 0, or if the debt would take
   * more than 4.4 years to pay.
   */
  charge(n: number): number {
    checkTokens('n', n);
    const waitUs = this.seek().charge(this.clock.now(), n);
    if (waitUs >= 0) return waitUs / 1000;
    throw new RangeError(`n must leave a debt of at most 4.4 years, got ${n}`);
  }

  /**
   * Corrects an estimate: charges the difference if `actual` is above `estimated`, returns it if
   * below. Returns the milliseconds until the bucket is out of debt, 0 after a return.
   *
   * @example
   * ```ts
   * const bucket = TokenBucket.create({ rate: 1000, burst: 60_000 });
   * if (bucket.tryConsume(4000)) bucket.settle(4000, 2600);
   * ```
   * @throws RangeError, TypeError as {@link charge} does, naming `estimated` or `actual`.
   */
  settle(estimated: number, actual: number): number {
    checkTokens('estimated', estimated);
    checkTokens('actual', actual);
    if (actual >= estimated) return this.charge(actual - estimated);
    this.returnTokens(estimated - actual);
    return 0;
  }

  /**
   * Returns tokens that you took and did not use; the bucket never holds more than the burst. Never
   * return tokens that were used or never taken: they would be admitted on top of the limit.
   */
  returnTokens(n: number): void {
    checkTokens('n', n);
    this.seek().returnTokens(this.clock.now(), n);
  }

  /** Returns the tokens that can be taken now: {@link balance}, or 0 in debt. */
  available(): number {
    return Math.max(0, this.balance());
  }

  /** Returns the tokens in the bucket: negative in debt, Infinity if unlimited. */
  balance(): number {
    return this.seek().balance(this.clock.now());
  }

  /**
   * Returns the milliseconds until the bucket holds `tokens` if no one takes any: 0 if it does now,
   * Infinity if it never will.
   */
  timeUntil(tokens: number): number {
    checkTokens('tokens', tokens);
    return this.seek().timeUntil(this.clock.now(), tokens) / 1000;
  }
}
