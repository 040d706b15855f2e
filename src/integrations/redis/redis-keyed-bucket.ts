import { createHash } from 'node:crypto';
import type { Key } from '../../kernel/keyed/hash.ts';
import type { Limits } from '../../kernel/keyed/table-cell.ts';
import { setBytesPerKey, tightest } from '../../kernel/limit-set/cell.ts';
import { checkOptions, joined, type Known } from '../../known-options.ts';
import type { ReserveOptions } from '../../limiters/bucket-calls.ts';
import type { KeyBucket } from '../../limiters/keyed-bucket.ts';
import { KeyedCalls } from '../../limiters/keyed-calls.ts';
import { KeyedLimitSet } from '../../limiters/keyed-limit-set.ts';
import { checkCapacity, type WithoutTiers } from '../../limiters/keyed-table.ts';
import { KeyedTokenBucket } from '../../limiters/keyed-token-bucket.ts';
import {
  type BucketLimit,
  type ContinuousLimit,
  describedLimits,
  LIMIT_OPTIONS,
  type LimitChange,
  type LimitsChange,
  type Schedules,
  type SeveralLimits,
  scheduleOf,
  schedulesOf,
} from '../../limiters/limit.ts';
import { PROMISES } from '../../limiters/limiter.ts';
import type { Description } from '../../limiters/state.ts';
import { Waiters } from '../../limiters/waiting.ts';
import { checkMade, shown } from '../../options.ts';
import { Answers, type RedisStats } from './answers.ts';
import type { LocalShare, RedisBucket, RedisReservation } from './redis-bucket.ts';
import {
  bucketShare,
  RedisLimitSet,
  RedisTokenBucket,
  setShare,
  sharesOf,
} from './redis-limits.ts';
import {
  checkName,
  checkRedisOptions,
  PREFIX_OPTIONS,
  type PrefixOptions,
  type RedisSettings,
} from './redis-options.ts';

// Braces would select the cluster node, so user-chosen keys could overload a single node. Lone
// surrogates would all be sent as the same replacement character.
const UNFIT = /[%{}\p{Surrogate}]/gu;

/** Longer keys are hashed: each key takes the server's memory, and users may choose them. */
const MOST_CHARACTERS = 1024;

function escaped(sign: string): string {
  return `%${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/** Whether the name of a key on the server is its hash. */
function isLong(text: string): boolean {
  return text.length > MOST_CHARACTERS;
}

/** The escaped text of a key, or its hash. No escaped text begins with `%sha256`. */
function bounded(text: string): string {
  const fit = text.replace(UNFIT, escaped);
  if (!isLong(text)) return fit;
  return `%sha256:${createHash('sha256').update(fit).digest('hex')}`;
}

/**
 * The name of a key's bucket on the server. Keys are equal as in a `Map`: `'1'`, `1` and `1n`
 * differ.
 *
 * @throws TypeError for a key that is not a string, number or bigint.
 */
function keyName(prefix: string, key: Key): string {
  switch (typeof key) {
    case 'string':
      return `${prefix}:${bounded(key)}`;
    case 'number':
      return `${prefix}:%number:${key}`;
    case 'bigint':
      return `${prefix}:%bigint:${bounded(key.toString(36))}`;
    default:
      throw new TypeError(`key must be a string, a number or a bigint, got ${shown(key)}`);
  }
}

/** Buckets kept for later calls, of 2 kB each. */
const MOST_RECENT = 1000;

/** The bucket of an invalid key: every call rejects with the reason. */
function rejecting(reason: unknown): RedisBucket {
  const call = () => Promise.reject(reason);
  return new Proxy({} as RedisBucket, { get: () => call });
}

/** A process's table for use while the server is unreachable. */
interface LocalTable {
  for(key: Key): KeyBucket;
}

/** How the classes make what differs between them. */
interface Makers<Bucket> {
  /** Makes the bucket of one key. */
  readonly bucket: (...of: ConstructorParameters<typeof RedisTokenBucket>) => Bucket;
  /** Makes this process's table. */
  readonly local: (limits: Limits<ContinuousLimit>, capacity: number) => LocalTable;
  /** What a key takes in it. Default: what one bucket takes. */
  readonly bytesPerKey?: number;
  /** Makes this process's share of the limits of a key that others than the options' apply to. */
  readonly share: (processes: number) => LocalShare;
}

/**
 * The base class of `RedisKeyedTokenBucket` and `RedisKeyedLimitSet`. `Bucket` is the class of one
 * key's limiter.
 */
abstract class RedisKeyedBucket<Bucket extends RedisBucket> extends KeyedCalls<
  'async',
  RedisBucket
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
  readonly #answers: Answers;
  readonly #makers: Makers<Bucket>;
  readonly #localCapacity: number;
  readonly #waiters = new Waiters();
  /**
   * Oldest first. Making a bucket takes longer than a call, and a new one does not know yet that the
   * key's limit has changed.
   */
  readonly #recent = new Map<Key, Bucket>();
  #locals: LocalTable | undefined;

  /** @internal */
  protected constructor(settings: RedisSettings, options: PrefixOptions, makers: Makers<Bucket>) {
    super();
    this.settings = checkMade(new.target, settings, 'schedules');
    const { localCapacity = 10_000 } = options;
    checkCapacity('localCapacity', localCapacity, makers.bytesPerKey);
    this.prefix = checkName('prefix', options.prefix);
    const { rate, burst } = tightest(settings.schedules);
    this.rate = rate;
    this.burst = burst;
    this.#answers = new Answers(settings);
    this.#localCapacity = localCapacity;
    this.#makers = makers;
  }

  /** This process's share of each key's limits. */
  #local(): LocalTable {
    const { processes, schedules } = this.settings;
    this.#locals ??= this.#makers.local(sharesOf(schedules, processes), this.#localCapacity);
    return this.#locals;
  }

  /**
   * Returns the bucket of one key, as a limiter.
   *
   * @throws TypeError, RangeError for an invalid key. The other methods reject with these errors.
   */
  for(key: Key): Bucket {
    const name = keyName(this.prefix, key);
    const changed = this.#makers.share(this.settings.processes);
    const local = (now: Schedules) =>
      now === this.settings.schedules ? this.#local().for(key) : changed(now);
    return this.#makers.bucket(this.settings, name, this.#answers, local, this.#waiters);
  }

  /** @internal */
  protected recent(key: Key): Bucket {
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
  protected of(key: Key, options?: object): RedisBucket {
    try {
      if (options !== undefined) checkOptions(options, {});
      return this.recent(key);
    } catch (error) {
      return rejecting(error);
    }
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs` (default `Infinity`), and returns the
   * milliseconds to wait before acting. Otherwise takes nothing and returns `REFUSED`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the key's bucket can never hold `n` tokens.
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
    return this.#answers.stats(this.waiting);
  }

  /** Unsettled calls of `wait` for all keys. `maxWaiting` applies per key. */
  get waiting(): number {
    return this.#waiters.count;
  }
}

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
    return new RedisKeyedTokenBucket(settings, options, {
      bucket: (...of) => new RedisTokenBucket(...of),
      local: ([limit], capacity) => KeyedTokenBucket.create({ ...limit, capacity }),
      share: bucketShare,
    });
  }

  /**
   * Changes the limit of this key only, for all processes that use the prefix: see
   * {@link RedisTokenBucket.reconfigure}.
   */
  async reconfigure(key: Key, limit: LimitChange): Promise<void> {
    return this.recent(key).reconfigure(limit);
  }

  /** @internal */
  protected describe(): Description {
    const { prefix, rate, burst } = this;
    return ['RedisKeyedTokenBucket', { prefix, rate, burst }];
  }
}

/** Options of {@link RedisKeyedLimitSet.create}. */
export interface RedisKeyedLimitSetOptions extends SeveralLimits, PrefixOptions {}

const SET_OPTIONS: Known<RedisKeyedLimitSetOptions> = /* @__PURE__ */ joined(PREFIX_OPTIONS, {
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
    const settings = checkRedisOptions(options, SET_OPTIONS, () => schedulesOf(options.limits));
    return new RedisKeyedLimitSet(settings, options, {
      bucket: (...of) => new RedisLimitSet(...of),
      local: (limits, capacity) => KeyedLimitSet.create({ limits, capacity }),
      bytesPerKey: setBytesPerKey(settings.schedules.length),
      share: setShare,
    });
  }

  /** The limits of each key, unless changed by `reconfigure`, in the order given. */
  get limits(): readonly ContinuousLimit[] {
    return this.settings.schedules.map(({ rate, burst }) => ({ rate, burst }));
  }

  /**
   * Changes the limits of this key only, for all processes that use the prefix: see
   * {@link RedisLimitSet.reconfigure}.
   */
  async reconfigure(key: Key, change: LimitsChange): Promise<void> {
    return this.recent(key).reconfigure(change);
  }

  /** @internal */
  protected describe(): Description {
    return ['RedisKeyedLimitSet', { prefix: this.prefix, limits: describedLimits(this.limits) }];
  }
}
