import type { Key } from '../../kernel/keyed/hash.ts';
import { joined, type Known } from '../../known-options.ts';
import { KeyedLimitSet } from '../../limiters/keyed-limit-set.ts';
import {
  type ContinuousLimit,
  describedLimits,
  type LimitsChange,
  type SeveralLimits,
  schedulesOf,
} from '../../limiters/limit.ts';
import type { Description } from '../../limiters/state.ts';
import { type BucketArguments, RedisKeyedBucket } from './redis-keyed-bucket.ts';
import { RedisLimitSet } from './redis-limit-set.ts';
import { checkRedisOptions, PREFIX_OPTIONS, type PrefixOptions } from './redis-options.ts';

/** Options of {@link RedisKeyedLimitSet.create}. */
export interface RedisKeyedLimitSetOptions extends SeveralLimits, PrefixOptions {}

const OPTIONS: Known<RedisKeyedLimitSetOptions> = /* @__PURE__ */ joined(PREFIX_OPTIONS, {
  limits: true,
});

/**
 * Several limits per key (a user, an address) on a Redis or Valkey server: see {@link RedisLimitSet}.
 * The rest is as for {@link RedisKeyedTokenBucket}.
 *
 * @example
 * ```ts
 * const limits = [{ rate: 10, burst: 10 }, { rate: 1, burst: 100 }];
 * const perUser = RedisKeyedLimitSet.create({ client, prefix: 'users', limits });
 * if (await perUser.tryConsume(user)) serve();
 * ```
 */
export class RedisKeyedLimitSet extends RedisKeyedBucket<RedisLimitSet> {
  /**
   * Creates the sets. Does not contact the server yet.
   *
   * @throws RangeError, TypeError for an invalid option.
   */
  static create(options: RedisKeyedLimitSetOptions): RedisKeyedLimitSet {
    const settings = checkRedisOptions(options, OPTIONS, () => schedulesOf(options.limits));
    return new RedisKeyedLimitSet(settings, options);
  }

  /** The limits of each key, unless changed by `reconfigure`, in the order given. */
  get limits(): readonly ContinuousLimit[] {
    return this.settings.schedules.map(({ rate, burst }) => ({ rate, burst }));
  }

  /** @internal */
  protected newLocal(limits: readonly ContinuousLimit[], capacity: number): KeyedLimitSet {
    return KeyedLimitSet.create({ limits, capacity });
  }

  /** @internal */
  protected newBucket(...of: BucketArguments): RedisLimitSet {
    return new RedisLimitSet(...of);
  }

  /**
   * Changes the limits of this key only, for all processes that use the prefix: see
   * {@link RedisLimitSet.reconfigure}.
   */
  async reconfigure(key: Key, change: LimitsChange): Promise<void> {
    return this.for(key).reconfigure(change);
  }

  /** @internal */
  protected describe(): Description {
    return ['RedisKeyedLimitSet', { prefix: this.prefix, limits: describedLimits(this.limits) }];
  }
}
