import type { Key } from '../kernel/keyed/message.ts';
import type { KeyBucket } from './key-bucket.ts';
import { KeyedCalls } from './keyed-calls.ts';
import type { ContinuousLimit } from './limit.ts';
import type { BlockingWaitOptions } from './limiter.ts';
import type { Reservation } from './reservation.ts';
import { type TierOptions, tierOf, withoutTier } from './tiers.ts';

/** The calls on buckets in shared memory that buckets on a server lack. */
export abstract class KeyedBucketCalls extends KeyedCalls<'sync', Reservation, TierOptions> {
  /** @internal */
  protected abstract override of(key: Key, options?: TierOptions): KeyBucket;

  /** The limits in force for each key. */
  abstract get limits(): readonly ContinuousLimit[];

  /** The rate per key, in tokens per second; with several limits, the lowest. */
  get rate(): number {
    return Math.min(...this.limits.map(({ rate }) => rate));
  }

  /** The largest number of tokens in a key's bucket; with several limits, the smallest burst. */
  get burst(): number {
    return Math.min(...this.limits.map(({ burst }) => burst));
  }

  /**
   * Takes `n` tokens of the key, into debt if necessary, and returns the milliseconds until it is
   * out of debt: see {@link KeyBucket.charge}.
   */
  charge(key: Key, n: number, options?: TierOptions): number {
    return this.of(key, options).charge(n);
  }

  /** Refuses a key for `ms` milliseconds: see {@link KeyBucket.block}. */
  block(key: Key, ms: number): boolean {
    return this.of(key).block(ms);
  }

  /**
   * Fills the bucket of a key for every tier, which ends a block or debt: see
   * {@link KeyBucket.reset}.
   */
  reset(key: Key): void {
    this.of(key).reset();
  }

  /**
   * Blocks the thread until `n` tokens are available for this caller, then returns true. Returns
   * false at once, taking nothing, if the wait would exceed `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  waitSync(key: Key, n?: number, options?: BlockingWaitOptions & TierOptions): boolean {
    return this.of(key, tierOf(options)).waitSync(n, withoutTier<BlockingWaitOptions>(options));
  }
}
