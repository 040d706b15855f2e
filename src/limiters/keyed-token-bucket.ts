import { openKeyed } from '../kernel/keyed/host.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import { KeyedBucket } from './keyed-bucket.ts';
import {
  createTable,
  newLimits,
  TABLE_OPTIONS,
  type TableOptions,
  type TierOptions,
} from './keyed-table.ts';
import { type ContinuousLimit, tableSchedule } from './limit.ts';
import {
  find,
  type LimiterHandle,
  type OpenLimiter,
  type OpenOptions,
  openByName,
  SHARED_OPTIONS,
} from './opening.ts';
import type { Region } from './region.ts';
import type { Description } from './state.ts';
import { keyedTokenBucketTerms } from './terms.ts';

const KIND = 'keyed-token-bucket';

/** One limit for each key, or one for each tier of keys. */
export interface KeyedLimit extends ContinuousLimit {
  /**
   * Other limits by name, 1 to 15; without any, omit it. A call that passes a name, of up to 64
   * characters, as its `tier` uses that limit.    */
  readonly tiers?: Readonly<Record<string, ContinuousLimit>>;
}

/** Options of {@link KeyedTokenBucket.create}. */
export type KeyedTokenBucketOptions = KeyedLimit & TableOptions;

/** A change of a keyed token bucket's limits. Omitted fields and tiers keep their values. */
export interface KeyedLimitChange extends Partial<ContinuousLimit> {
  /** Changes of tiers, by name. */
  readonly tiers?: Readonly<Record<string, Partial<ContinuousLimit>>>;
}

const OPTIONS: Known<KeyedTokenBucketOptions> = /* @__PURE__ */ joined(
  SHARED_OPTIONS,
  TABLE_OPTIONS,
  {
    rate: true,
    burst: true,
    tiers: true,
  },
);
const LIMIT: Known<ContinuousLimit> = { rate: true, burst: true };
const CHANGE: Known<KeyedLimitChange> = /* @__PURE__ */ joined(LIMIT, { tiers: true });

/**
 * Limits each key (a user, an address) with its own token bucket. The buckets are in one table of
 * fixed size that any number of threads share without a lock. A key's bucket starts full when the
 * key is first seen; once it is full again, its entry can be reused for another key.
 *
 * Keys are strings, numbers or bigints, and are equal as in a `Map`. They are hashed with a random
 * seed per table, so nobody can craft keys that collide.
 *
 * A key with an entry is admitted at most burst + rate * t tokens in any t seconds. Keys that find
 * no entry in the table share one bucket, unless `whenFull` says otherwise. A key that gets an
 * entry later starts with a full bucket.
 *
 * @example
 * ```ts
 * const perUser = KeyedTokenBucket.create({ rate: 10, burst: 20, capacity: 100_000 });
 * if (perUser.tryConsume(user)) serve();
 * const limiter = perUser.for(user); // the same methods, without the key
 * ```
 *
 * Tiers give some keys another limit. A key has one state for all tiers, so choose the tier by the
 * key, such as a customer's plan. What a key used stays used when its tier changes.
 *
 * @example
 * ```ts
 * const perUser = KeyedTokenBucket.create({
 *   rate: 1,
 *   burst: 10,
 *   tiers: { pro: { rate: 20, burst: 100 } },
 *   capacity: 100_000,
 * });
 * perUser.tryConsume('ann', 1, { tier: 'pro' });
 * const ann = perUser.for('ann', { tier: 'pro' }); // every call of this object
 * ```
 */
export class KeyedTokenBucket extends KeyedBucket<typeof KIND, TierOptions> {
  private constructor(opened: OpenLimiter<typeof KIND>) {
    super(opened, openKeyed);
  }

  /**
   * Creates the table. Without a `region`, a table of more than 470 keys gets its own region.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: KeyedTokenBucketOptions): KeyedTokenBucket {
    const given = checkOptions(options, OPTIONS);
    const limits = newLimits<ContinuousLimit>(given, LIMIT, (limit) => tableSchedule(limit));
    return new KeyedTokenBucket(createTable(KIND, limits, options));
  }

  /**
   * Opens the table named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const perUser = KeyedTokenBucket.open(region, 'api', { rate: 10, burst: 20, capacity: 100 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(
    region: Region,
    name: string,
    options: OpenOptions<KeyedTokenBucketOptions>,
  ): KeyedTokenBucket {
    const maker = { ...keyedTokenBucketTerms, known: OPTIONS, made: KeyedTokenBucket };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the table behind a handle.
   *
   * @throws HandleError if `handle` is not a keyed token bucket's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<typeof KIND>): KeyedTokenBucket {
    return new KeyedTokenBucket(find(keyedTokenBucketTerms, handle));
  }

  /** The limits of the tiers by name; empty if there are none. */
  get tiers(): Readonly<Record<string, ContinuousLimit>> {
    return this.table.limitsOfTiers(({ rate, burst }) => ({ rate, burst }));
  }

  /**
   * Changes the limits for all threads at once, without a lock: each call uses either the old
   * limits or the new ones, and every later call uses the new ones. Waiting callers keep their
   * order, and wake when their tokens are due under the new limits. Omitted fields keep their
   * value.
   *
   * Each key keeps its tokens and its debt, up to the new burst, as a `TokenBucket` does. A change
   * never admits more than the limits before and after it allow: see `docs/algorithms-keyed.md`,
   * "Changes". It visits every entry of the table once.
   *
   * @example
   * ```ts
   * const tiers = { pro: { rate: 20, burst: 100 } };
   * const perUser = KeyedTokenBucket.create({ rate: 1, burst: 10, tiers, capacity: 10_000 });
   * perUser.reconfigure({ rate: 5, tiers: { pro: { burst: 200 } } });
   * ```
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  reconfigure(change: KeyedLimitChange): void {
    const given = checkOptions(change, CHANGE, 'change');
    this.table.changeLimits<ContinuousLimit>(given, LIMIT, tableSchedule);
  }

  /** @internal */
  protected get own(): readonly ContinuousLimit[] {
    return [this.table.kernel.schedules()[0]];
  }

  /** @internal */
  protected describe(): Description {
    const { rate, burst } = this;
    return ['KeyedTokenBucket', { rate, burst }];
  }
}
