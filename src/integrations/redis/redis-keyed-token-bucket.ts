import { tightest } from '../../kernel/bucket/several.ts';
import { MAX_CAPACITY } from '../../kernel/keyed/cell.ts';
import type { Key } from '../../kernel/keyed/message.ts';
import { checkOptions } from '../../known-options.ts';
import type { Description } from '../../limiters/described.ts';
import { KeyWaiters } from '../../limiters/key-waiters.ts';
import { type CallsOfKey, KeyedCalls } from '../../limiters/keyed-calls.ts';
import { KeyedTokenBucket } from '../../limiters/keyed-token-bucket.ts';
import type { BucketLimit, ContinuousLimit, LimitChange } from '../../limiters/limit.ts';
import type { LimitsChange, SeveralLimits } from '../../limiters/several-limits.ts';
import { checkNumber, checkObject } from '../../options.ts';
import { keyName } from './key-name.ts';
import { shareOf } from './local-share.ts';
import {
  checkName,
  checkRedisOptions,
  describedLimits,
  KEYED_OPTIONS,
  type RedisOptions,
  type RedisSettings,
} from './redis-options.ts';
import type { RedisReservation } from './redis-reservation.ts';
import { CallCounts, type RedisStats } from './redis-stats.ts';
import { RedisTokenBucket } from './redis-token-bucket.ts';

/** Options of {@link RedisKeyedTokenBucket.create}. */
export type RedisKeyedTokenBucketOptions = (BucketLimit | SeveralLimits) &
  Omit<RedisOptions, 'localBucket'> & {
    /** The prefix of the buckets' names on the server, 1 to 1024 characters. */
    readonly prefix: string;
    /**
     * For `whenUnreachable: 'local'`: the number of keys in this process's table; further keys
     * share one bucket. Each takes 32 bytes, with several limits 64 plus 16 per limit. Default
     * 10,000.
     */
    readonly localCapacity?: number;
  };

/** Buckets kept for later calls, of 2 kB each. */
const MOST_RECENT = 1000;

/** The bucket of an invalid key: every call rejects with the reason. */
function rejecting(reason: unknown): CallsOfKey<'async', RedisReservation> {
  const call = () => Promise.reject(reason);
  return new Proxy({} as CallsOfKey<'async', RedisReservation>, { get: () => call });
}

/**
 * A token bucket per key (a user, an address) on a Redis or Valkey server: one limit per key for
 * all processes that use the prefix. Each key's bucket has its own name on the server, which
 * expires once the bucket is full; in a cluster, the names spread over all nodes.
 *
 * Keys are strings of at most 1024 characters, numbers or bigints, and are equal as in a `Map`.
 *
 * @example
 * ```ts
 * const perUser = RedisKeyedTokenBucket.create({ client, prefix: 'users', rate: 10, burst: 20 });
 * if (await perUser.tryConsume(user)) serve();
 * const limiter = perUser.for(user); // the same methods, without the key
 * ```
 *
 * With `limits`, each key has several limits: see {@link RedisTokenBucket}.
 */
export class RedisKeyedTokenBucket extends KeyedCalls<'async', RedisReservation> {
  /** The prefix of the buckets' names on the server. */
  readonly prefix: string;
  /**
   * Tokens per second of each key, unless changed by `reconfigure`; with several limits, the lowest
   * rate.
   */
  readonly rate: number;
  /**
   * The burst of each key, unless changed by `reconfigure`; with several limits, the smallest one.
   */
  readonly burst: number;
  /** The limits of each key, unless changed by `reconfigure`, in the order given. */
  readonly limits: readonly ContinuousLimit[];
  readonly #settings: RedisSettings;
  readonly #counts: CallCounts;
  readonly #localCapacity: number;
  readonly #waiters = new KeyWaiters();
  /**
   * Oldest first. Making a bucket takes longer than a call, and a new one does not know yet that the
   * key's limit has changed.
   */
  readonly #recent = new Map<Key, RedisTokenBucket>();
  #locals: KeyedTokenBucket | undefined;

  private constructor(settings: RedisSettings, prefix: string, localCapacity: number) {
    super();
    this.#settings = settings;
    this.prefix = prefix;
    const { rate, burst } = tightest(settings.schedules);
    this.rate = rate;
    this.burst = burst;
    this.limits = settings.schedules.map((one) => ({ rate: one.rate, burst: one.burst }));
    this.#counts = new CallCounts(settings.onUnreachable);
    this.#localCapacity = localCapacity;
  }

  /**
   * Creates the buckets. Does not contact the server yet.
   *
   * @throws RangeError, TypeError for an invalid option.
   */
  static create(options: RedisKeyedTokenBucketOptions): RedisKeyedTokenBucket {
    const { prefix, localCapacity = 10_000 } = checkObject('options', options);
    checkNumber('localCapacity', localCapacity, { min: 1, max: MAX_CAPACITY, integer: true });
    const settings = checkRedisOptions(options, KEYED_OPTIONS);
    return new RedisKeyedTokenBucket(settings, checkName('prefix', prefix), localCapacity);
  }

  /** @internal */
  protected describe(): Description {
    return ['RedisKeyedTokenBucket', { prefix: this.prefix, ...describedLimits(this.limits) }];
  }

  /** This process's share of each key's limits. */
  #local(): KeyedTokenBucket {
    const { processes, schedules } = this.#settings;
    this.#locals ??= KeyedTokenBucket.create({
      limits: schedules.map((schedule) => shareOf(schedule, processes)),
      capacity: this.#localCapacity,
    });
    return this.#locals;
  }

  /**
   * Returns the bucket of one key, as a limiter.
   *
   * @throws TypeError, RangeError for an invalid key. The other methods reject with these errors.
   */
  for(key: Key): RedisTokenBucket {
    const name = keyName(this.prefix, key);
    const local = () => this.#local().for(key);
    return new RedisTokenBucket(this.#settings, name, this.#counts, local, this.#waiters.of(name));
  }

  #recentBucket(key: Key): RedisTokenBucket {
    let bucket = this.#recent.get(key);
    if (bucket === undefined) {
      bucket = this.for(key);
      this.#recent.set(key, bucket);
      const [oldest] = this.#recent.keys();
      if (this.#recent.size > MOST_RECENT && oldest !== undefined) this.#recent.delete(oldest);
    }
    return bucket;
  }

  /** @internal */
  protected of(key: Key, options?: object): CallsOfKey<'async', RedisReservation> {
    try {
      if (options !== undefined) checkOptions(options, {});
      return this.#recentBucket(key);
    } catch (error) {
      return rejecting(error);
    }
  }

  /**
   * Changes the limit of this key only, for all processes that use the prefix: see
   * {@link RedisTokenBucket.reconfigure}.
   */
  async reconfigure(key: Key, limit: LimitChange | LimitsChange): Promise<void> {
    return this.for(key).reconfigure(limit);
  }

  /** Counts of all calls of this object and of its limiters from {@link for}. */
  stats(): RedisStats {
    return this.#counts.stats(this.waiting);
  }

  /** Unsettled calls of `wait` for all keys. `maxWaiting` applies per key. */
  get waiting(): number {
    return this.#waiters.count;
  }
}
