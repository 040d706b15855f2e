import type { Key } from '../../kernel/keyed/hash.ts';
import { joined, type Known } from '../../known-options.ts';
import { KeyedTokenBucket } from '../../limiters/keyed-token-bucket.ts';
import {
  type BucketLimit,
  type ContinuousLimit,
  LIMIT_OPTIONS,
  type LimitChange,
  scheduleOf,
} from '../../limiters/limit.ts';
import type { Description } from '../../limiters/state.ts';
import { type BucketArguments, RedisKeyedBucket } from './redis-keyed-bucket.ts';
import { checkRedisOptions, PREFIX_OPTIONS, type PrefixOptions } from './redis-options.ts';
import { RedisTokenBucket } from './redis-token-bucket.ts';

/** Options of {@link RedisKeyedTokenBucket.create}. */
export type RedisKeyedTokenBucketOptions = BucketLimit & PrefixOptions;

const OPTIONS: Known<RedisKeyedTokenBucketOptions> = /* @__PURE__ */ joined(
  LIMIT_OPTIONS,
  PREFIX_OPTIONS,
);

/**
 * A token bucket per key (a user, an address) on a Redis or Valkey server: one limit per key for
 * all processes that use the prefix. Each key's bucket has its own name on the server, which
 * expires once the bucket is full; in a cluster, the names spread over all nodes.
 *
 * Keys are strings, numbers or bigints, and are equal as in a `Map`. For a string of more than 1024
 * characters, the name on the server contains its SHA-256 hash instead.
 *
 * @example
 * ```ts
 * const perUser = RedisKeyedTokenBucket.create({ client, prefix: 'users', rate: 10, burst: 20 });
 * if (await perUser.tryConsume(user)) serve();
 * const limiter = perUser.for(user); // the same methods, without the key
 * ```
 */
export class RedisKeyedTokenBucket extends RedisKeyedBucket<RedisTokenBucket> {
  /**
   * Creates the buckets. Does not contact the server yet.
   *
   * @throws RangeError, TypeError for an invalid option.
   */
  static create(options: RedisKeyedTokenBucketOptions): RedisKeyedTokenBucket {
    const settings = checkRedisOptions(options, OPTIONS, () => [scheduleOf(options)]);
    return new RedisKeyedTokenBucket(settings, options);
  }

  /** @internal */
  protected newLocal([limit]: readonly [ContinuousLimit], capacity: number): KeyedTokenBucket {
    return KeyedTokenBucket.create({ ...limit, capacity });
  }

  /** @internal */
  protected newBucket(...of: BucketArguments): RedisTokenBucket {
    return new RedisTokenBucket(...of);
  }

  /**
   * Changes the limit of this key only, for all processes that use the prefix: see
   * {@link RedisTokenBucket.reconfigure}.
   */
  async reconfigure(key: Key, limit: LimitChange): Promise<void> {
    return this.for(key).reconfigure(limit);
  }

  /** @internal */
  protected describe(): Description {
    const { prefix, rate, burst } = this;
    return ['RedisKeyedTokenBucket', { prefix, rate, burst }];
  }
}
