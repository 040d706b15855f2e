import type { Key } from '../../kernel/keyed/hash.ts';
import { MAX_CAPACITY } from '../../kernel/keyed/table-cell.ts';
import { tightest } from '../../kernel/limit-set/cell.ts';
import { checkOptions } from '../../known-options.ts';
import type { ReserveOptions } from '../../limiters/bucket-calls.ts';
import type { KeyBucket } from '../../limiters/keyed-bucket.ts';
import { type CallsOfKey, KeyedCalls } from '../../limiters/keyed-calls.ts';
import type { WithoutTiers } from '../../limiters/keyed-table.ts';
import type { ContinuousLimit } from '../../limiters/limit.ts';
import { PROMISES } from '../../limiters/limiter.ts';
import { KeyWaiters, type WaitCount } from '../../limiters/waiting.ts';
import { checkMade, checkNumber } from '../../options.ts';
import { isLong, keyName } from './key-name.ts';
import { sharesOf } from './local-share.ts';
import { checkName, type PrefixOptions, type RedisSettings } from './redis-options.ts';
import type { RedisReservation } from './redis-reservation.ts';
import { CallCounts, type RedisStats } from './redis-stats.ts';

/** Buckets kept for later calls, of 2 kB each. */
const MOST_RECENT = 1000;

/** The methods of one key's bucket. */
interface OneBucket extends CallsOfKey<'async'> {
  acquire(n?: number, maxWaitMs?: number): Promise<number>;
  reserve(n?: number, options?: ReserveOptions): Promise<RedisReservation | undefined>;
  returnTokens(n: number): Promise<void>;
  balance(): Promise<number>;
}

/** The bucket of an invalid key: every call rejects with the reason. */
function rejecting(reason: unknown): OneBucket {
  const call = () => Promise.reject(reason);
  return new Proxy({} as OneBucket, { get: () => call });
}

/** A process's table for use while the server is unreachable. */
interface LocalTable {
  for(key: Key): KeyBucket;
}

/** The arguments of the constructor of `Bucket`, for one key. */
export type BucketArguments = [
  settings: RedisSettings,
  name: string,
  counts: CallCounts,
  local: () => KeyBucket,
  waiters: WaitCount,
];

/**
 * The base class of `RedisKeyedTokenBucket` and `RedisKeyedLimitSet`. `Bucket` is the class of one
 * key's limiter.
 */
export abstract class RedisKeyedBucket<Bucket extends OneBucket> extends KeyedCalls<
  'async',
  OneBucket
> {
  /** @internal */
  readonly [PROMISES] = true;
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
  /** @internal */
  protected readonly settings: RedisSettings;
  readonly #counts: CallCounts;
  readonly #localCapacity: number;
  readonly #waiters = new KeyWaiters();
  /**
   * Oldest first. Making a bucket takes longer than a call, and a new one does not know yet that the
   * key's limit has changed.
   */
  readonly #recent = new Map<Key, Bucket>();
  #locals: LocalTable | undefined;

  /** @internal */
  protected constructor(settings: RedisSettings, options: PrefixOptions) {
    super();
    this.settings = checkMade(new.target, settings, 'schedules');
    const { localCapacity = 10_000 } = options;
    checkNumber('localCapacity', localCapacity, { min: 1, max: MAX_CAPACITY, integer: true });
    this.prefix = checkName('prefix', options.prefix);
    const { rate, burst } = tightest(settings.schedules);
    this.rate = rate;
    this.burst = burst;
    this.#counts = new CallCounts(settings.onUnreachable);
    this.#localCapacity = localCapacity;
  }

  /** Makes this process's table. @internal */
  protected abstract newLocal(
    limits: readonly [ContinuousLimit, ...ContinuousLimit[]],
    capacity: number,
  ): LocalTable;

  /** Makes the bucket of one key. @internal */
  protected abstract newBucket(...of: BucketArguments): Bucket;

  /** This process's share of each key's limits. */
  #local(): LocalTable {
    const { processes, schedules } = this.settings;
    this.#locals ??= this.newLocal(sharesOf(schedules, processes), this.#localCapacity);
    return this.#locals;
  }

  /**
   * Returns the bucket of one key, as a limiter.
   *
   * @throws TypeError, RangeError for an invalid key. The other methods reject with these errors.
   */
  for(key: Key): Bucket {
    const name = keyName(this.prefix, key);
    const local = () => this.#local().for(key);
    return this.newBucket(this.settings, name, this.#counts, local, this.#waiters.of(name));
  }

  #recentBucket(key: Key): Bucket {
    let bucket = this.#recent.get(key);
    if (bucket === undefined) {
      bucket = this.for(key);
      if (typeof key === 'string' && isLong(key)) return bucket; // a thousand could fill the memory
      this.#recent.set(key, bucket);
      const [oldest] = this.#recent.keys();
      if (this.#recent.size > MOST_RECENT && oldest !== undefined) this.#recent.delete(oldest);
    }
    return bucket;
  }

  /** @internal */
  protected of(key: Key, options?: object): OneBucket {
    try {
      if (options !== undefined) checkOptions(options, {});
      return this.#recentBucket(key);
    } catch (error) {
      return rejecting(error);
    }
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs` (default `Infinity`), and returns the
   * milliseconds to wait before acting. Otherwise takes nothing and returns `REFUSED`.
   */
  acquire(key: Key, n?: number, maxWaitMs?: number, options?: WithoutTiers): Promise<number> {
    return this.of(key, options).acquire(n, maxWaitMs);
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs` (default `Infinity`) and returns a
   * reservation: act at its instant. Otherwise takes nothing and returns undefined.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  reserve(key: Key, n?: number, options?: ReserveOptions): Promise<RedisReservation | undefined> {
    return this.of(key).reserve(n, options);
  }

  /** Returns tokens that you took and did not use; the bucket never holds more than the burst. */
  returnTokens(key: Key, n: number, options?: WithoutTiers): Promise<void> {
    return this.of(key, options).returnTokens(n);
  }

  /** Returns the tokens in the key's bucket: negative in debt, Infinity if unlimited. */
  balance(key: Key, options?: WithoutTiers): Promise<number> {
    return this.of(key, options).balance();
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
