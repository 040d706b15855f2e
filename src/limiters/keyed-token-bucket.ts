import { createKeyedCell, openKeyedCell } from '../kernel/keyed/cell.ts';
import { openAnyTable } from '../kernel/keyed/composite.ts';
import type { Key } from '../kernel/keyed/message.ts';
import type { KernelName } from '../memory/handle.ts';
import type { Clock } from '../time/clock.ts';
import type { Description } from './described.ts';
import { KeyBucket } from './key-bucket.ts';
import { KeyWaiters } from './key-waiters.ts';
import { KeyedBucketCalls } from './keyed-bucket-calls.ts';
import {
  changeOf,
  KEYED_OPTIONS,
  type KeyedLimitChange,
  type KeyedTokenBucketOptions,
  newLimits,
} from './keyed-limits.ts';
import { KeyedTable } from './keyed-table.ts';
import type { ContinuousLimit } from './limit.ts';
import type { OpenOptions } from './named-limiter.ts';
import { checkShared, find, handleOf, type LimiterHandle, type OpenLimiter } from './opening.ts';
import { openByName } from './opening-by-name.ts';
import type { Region } from './region.ts';
import { type LimitsChange, named } from './several-limits.ts';
import type { KeyedStats } from './stats.ts';
import { checkTable } from './table-options.ts';
import { keyedBucketCell } from './terms.ts';
import type { TierOptions } from './tiers.ts';

const KIND = 'keyed-token-bucket';

/**
 * Limits each key (a user, an address) with its own token bucket. The buckets are in one table of
 * fixed size that any number of threads share without a lock. A key's bucket starts full when the
 * key is first seen; once it is full again, its entry can be reused for another key.
 *
 * Keys are strings, numbers or bigints, and are equal as in a `Map`. They are hashed with a random
 * seed per table, so nobody can craft keys that collide.
 *
 * A key with an entry is admitted at most burst + rate * t tokens in any t seconds. Keys that find
 * no place in the table share one bucket, unless `whenFull` says otherwise. A key that gets an
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
 * key, such as a customer's plan.
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
 *
 * With `limits`, each key has several limits. A call is admitted if all of them admit it, and then
 * counts against each, in one atomic step.
 *
 * @example
 * ```ts
 * const perUser = KeyedTokenBucket.create({
 *   limits: [
 *     { rate: 10, burst: 10 },
 *     { rate: per(100, 'minute'), burst: 100 },
 *   ],
 *   capacity: 100_000,
 * });
 * if (!perUser.tryConsume(user)) {
 *   const { limits } = perUser.decide(user, 0); // the state of each limit
 * }
 * ```
 */
export class KeyedTokenBucket extends KeyedBucketCalls {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  readonly #opened: OpenLimiter<typeof KIND>;
  readonly #table: KeyedTable;
  readonly #waiters = new KeyWaiters();
  /** Reused for every key, so that a call allocates nothing. */
  readonly #turned: KeyBucket;

  private constructor(opened: OpenLimiter<typeof KIND>) {
    super();
    this.#opened = opened;
    this.clock = opened.clock;
    this.#table = new KeyedTable(opened, openAnyTable);
    this.#turned = new KeyBucket(this.#table, this.#waiters);
  }

  /**
   * Creates the table. Without a `region`, a table of more than 470 keys gets its own region.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: KeyedTokenBucketOptions): KeyedTokenBucket {
    const limits = newLimits(options);
    const table = { ...limits, ...checkTable(options, limits.limitsPerKey) };
    const { clock, region, stats, kernel } = checkShared(options);
    const nowUs = clock.now();
    const made = { kind: KIND, nowUs, ...table, stats, region, kernel } as const;
    return new KeyedTokenBucket({ kind: KIND, cell: createKeyedCell(made), clock, kernel });
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
    return openByName(NAMED, region, name, options);
  }

  /**
   * Attaches this thread to the table behind a handle.
   *
   * @throws HandleError if `handle` is not a keyed token bucket's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<typeof KIND>): KeyedTokenBucket {
    return new KeyedTokenBucket(find(KIND, handle, openKeyedCell));
  }

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<typeof KIND> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.#table.kernel.name;
  }

  /** The limits in force for each key, in the order given, without tiers. */
  get limits(): readonly ContinuousLimit[] {
    return this.#table.limits.map(({ rate, burst }) => ({ rate, burst }));
  }

  /** The limits of the tiers by name; empty if there are none. */
  get tiers(): Readonly<Record<string, ContinuousLimit>> {
    return this.#table.limitsOfTiers(({ rate, burst }) => ({ rate, burst }));
  }

  /**
   * Changes the limits for all threads at once, without a lock: each call uses either the old
   * limits or the new ones, and every later call uses the new ones. Waiting callers keep their
   * order, and wake when their tokens are due under the new limits. Omitted fields keep their
   * value.
   *
   * If all rates change by the same factor, as a single rate always does, each key keeps its tokens
   * and its debt. This holds from 1/4096 to 8 times the rate at creation. Otherwise each key keeps
   * its time: an empty bucket stays empty, a full one stays full, and a wait of a second stays a
   * second. A change never admits more tokens than both limits allow: see
   * `docs/algorithms-keyed.md`, "Changes".
   *
   * If each key has several limits, pass one change for each: `{ limits: [{}, { rate: 5 }] }`. All
   * of them change at the same instant. A key in debt then starts without tokens under every limit
   * once the debt is paid.
   *
   * @example
   * ```ts
   * const tiers = { pro: { rate: 20, burst: 100 } };
   * const perUser = KeyedTokenBucket.create({ rate: 1, burst: 10, tiers, capacity: 10_000 });
   * perUser.reconfigure({ rate: 5, tiers: { pro: { burst: 200 } } });
   * ```
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_RECONFIGURE_BUSY` if too many threads reconfigure at once.
   */
  reconfigure(change: KeyedLimitChange | LimitsChange): void {
    const { limitsPerKey, tiers } = this.#table;
    const next = changeOf(change, tiers, limitsPerKey || 1);
    this.#table.reconfigure(next, limitsPerKey > 0 ? named : undefined);
  }

  /** @internal */
  protected describe(): Description {
    const { limits, rate, burst } = this;
    if (limits.length === 1) return ['KeyedTokenBucket', { rate, burst }];
    const text = limits.map((one) => `${one.burst} at ${one.rate}/s`).join(' and ');
    return ['KeyedTokenBucket', { limits: text }];
  }

  /**
   * Returns the bucket of one key as a limiter, under a tier if one is given. Creating it takes no
   * room in the table.
   *
   * @throws TypeError if `key` is not a string, number or bigint; so does every other method.
   * @throws RangeError if the table has no such tier; so does every other method.
   */
  for(key: Key, options?: TierOptions): KeyBucket {
    return this.#table.turn(new KeyBucket(this.#table, this.#waiters), key, options);
  }

  /** @internal */
  protected of(key: Key, options?: TierOptions): KeyBucket {
    return this.#table.turn(this.#turned, key, options);
  }

  /**
   * Number of callers of this thread waiting in `wait` on this object and on buckets from its
   * `for`, for all keys. `maxWaiting` counts the callers of one key.
   */
  get waiting(): number {
    return this.#waiters.count;
  }

  /**
   * Returns counts over all threads since the table's creation, and the callers waiting on this
   * object. Calls are counted only with `stats: true`. Scans the whole table: 0.1 to 0.2 s for a
   * million keys.
   */
  stats(): KeyedStats {
    return { ...this.#table.kernel.stats(this.clock.now()), waiting: this.waiting };
  }
}

/** How `open` creates one. */
const NAMED = {
  kind: 'keyed-token-bucket' as const,
  known: KEYED_OPTIONS,
  create: (options: KeyedTokenBucketOptions) => KeyedTokenBucket.create(options),
  attach: (handle: LimiterHandle<'keyed-token-bucket'>) => KeyedTokenBucket.attach(handle),
  cell: keyedBucketCell,
  changeable: ['rate', 'burst', 'tiers', 'limits'],
  reconfigure: (limiter: KeyedTokenBucket, change: never) => limiter.reconfigure(change),
};
