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
     * For `whenUnreachable: 'local'`: the number of keys that this process has room for, at 32
     * bytes each, with several limits 64 and 16 for each limit; further keys share one bucket.
     * Default 10,000.
     */
    readonly localCapacity?: number;
  };

/** Stands for the bucket of a key that is none: every call rejects with the reason. */
function rejecting(reason: unknown): CallsOfKey<'async', RedisReservation> {
  const call = () => Promise.reject(reason);
  return new Proxy({} as CallsOfKey<'async', RedisReservation>, { get: () => call });
}

/**
 * A token bucket per key (a user, an address) on a Redis or Valkey server: one limit per key for
 * all processes that use the prefix. Each key's bucket is stored under its own name, which expires
 * when the bucket is full again; in a cluster the names spread over all nodes.
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
   * The rate of each key in tokens per second, unless changed by `reconfigure`; with several limits,
   * the lowest one.
   */
  readonly rate: number;
  /**
   * The largest number of tokens in a key's bucket, unless changed by `reconfigure`; with several
   * limits, the smallest burst.
   */
  readonly burst: number;
  /** The limits of each key, unless changed by `reconfigure`, in the order in which they were given. */
  readonly limits: readonly ContinuousLimit[];
  readonly #settings: RedisSettings;
  readonly #counts: CallCounts;
  readonly #localCapacity: number;
  readonly #waiters = new KeyWaiters();
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
   * Creates the buckets. Sends nothing yet.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
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

  /** This process's share of the limits of each key. */
  #local(): KeyedTokenBucket {
    const { processes, schedules } = this.#settings;
    this.#locals ??= KeyedTokenBucket.create({
      limits: schedules.map((schedule) => shareOf(schedule, processes)),
      capacity: this.#localCapacity,
    });
    return this.#locals;
  }

  /**
   * The bucket of one key as a limiter.
   *
   * @throws TypeError, RangeError for an invalid key. The other methods reject with the same
   * errors.
   */
  for(key: Key): RedisTokenBucket {
    const name = keyName(this.prefix, key);
    const local = () => this.#local().for(key);
    return new RedisTokenBucket(this.#settings, name, this.#counts, local, this.#waiters.of(name));
  }

  /** @internal */
  protected of(key: Key, options: object = {}): CallsOfKey<'async', RedisReservation> {
    try {
      checkOptions(options, {});
      return this.for(key);
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

  /** Counts over all calls of this object and of the limiters that it created. */
  stats(): RedisStats {
    return this.#counts.stats(this.waiting);
  }

  /** The calls of `wait` for all keys that are not settled yet. `maxWaiting` counts those of one. */
  get waiting(): number {
    return this.#waiters.count;
  }
}
