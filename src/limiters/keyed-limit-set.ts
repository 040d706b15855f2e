import { createLimitSetCell, setBytesPerKey } from '../kernel/limit-set/cell.ts';
import { openKeyedLimitSet } from '../kernel/limit-set/host.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import { KeyedBucket } from './keyed-bucket.ts';
import { checkTable, TABLE_OPTIONS, type TableOptions, type WithoutTiers } from './keyed-table.ts';
import {
  type ContinuousLimit,
  changeOf,
  describedLimits,
  type LimitsChange,
  named,
  type SeveralLimits,
  schedulesOf,
} from './limit.ts';
import {
  checkShared,
  find,
  type LimiterHandle,
  type OpenLimiter,
  type OpenOptions,
  openByName,
  SHARED_OPTIONS,
} from './opening.ts';
import type { Region } from './region.ts';
import type { Description } from './state.ts';
import { keyedLimitSetTerms } from './terms.ts';

const KIND = 'keyed-limit-set';

/** Options of {@link KeyedLimitSet.create}. */
export interface KeyedLimitSetOptions extends SeveralLimits, TableOptions {}

const OPTIONS: Known<KeyedLimitSetOptions> = /* @__PURE__ */ joined(SHARED_OPTIONS, TABLE_OPTIONS, {
  limits: true,
});

/**
 * Limits each key (a user, an address) with its own set of limits: 10 a second and 100 a minute. A
 * call is admitted if all limits of its key admit it, and then counts against each, in one atomic
 * step. The rest is as for {@link KeyedTokenBucket}, without tiers: one table of fixed size for all
 * threads, and entries that are reused once all limits of their key are full again. `ERR_BUCKET_BUSY`
 * as in a {@link LimitSet}, with about 250 threads.
 *
 * @example
 * ```ts
 * const perUser = KeyedLimitSet.create({
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
export class KeyedLimitSet extends KeyedBucket<typeof KIND, WithoutTiers> {
  private constructor(opened: OpenLimiter<typeof KIND>) {
    super(opened, openKeyedLimitSet);
  }

  /**
   * Creates a table with 1 to 8 limits for each key. Without a `region`, it gets its own.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: KeyedLimitSetOptions): KeyedLimitSet {
    const schedules = schedulesOf(checkOptions(options, OPTIONS).limits);
    const { clock, region, stats, kernel } = checkShared(options);
    const table = checkTable(options, setBytesPerKey(schedules.length));
    const settings = { ...table, nowUs: clock.now(), stats, region, kernel };
    const cell = createLimitSetCell({ schedules, ...settings });
    return new KeyedLimitSet({ kind: KIND, cell, clock, kernel });
  }

  /**
   * Opens the table named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const limits = [{ rate: 10, burst: 10 }, { rate: 1, burst: 100 }];
   * const perUser = KeyedLimitSet.open(region, 'api', { limits, capacity: 100 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(
    region: Region,
    name: string,
    options: OpenOptions<KeyedLimitSetOptions>,
  ): KeyedLimitSet {
    const maker = { ...keyedLimitSetTerms, known: OPTIONS, made: KeyedLimitSet };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the table behind a handle.
   *
   * @throws HandleError if `handle` is not a keyed limit set's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<typeof KIND>): KeyedLimitSet {
    return new KeyedLimitSet(find(keyedLimitSetTerms, handle));
  }

  /** The limits in force for each key, in the order given. `rate` and `burst` are the smallest. */
  get limits(): readonly ContinuousLimit[] {
    return this.table.kernel.schedules().map(({ rate, burst }) => ({ rate, burst }));
  }

  /**
   * Changes the limits of all keys for all threads at once, without a lock: all of them change at
   * the same instant. Pass one change for each limit; omitted fields keep their value. Waiting
   * callers keep their order, and wake when their tokens are due under the new limits. Each key
   * keeps its tokens and its debt under each limit, as in {@link LimitSet.reconfigure}. `rate: 0`
   * pauses a limit of all keys.
   *
   * @example
   * ```ts
   * const limits = [{ rate: 10, burst: 10 }, { rate: 1, burst: 100 }];
   * const perUser = KeyedLimitSet.create({ limits, capacity: 10_000 });
   * perUser.reconfigure({ limits: [{}, { rate: 5 }] });
   * ```
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  reconfigure(change: LimitsChange): void {
    const { limits } = checkOptions(change, { limits: true }, 'change');
    const count = this.table.kernel.schedules().length;
    this.table.reconfigure(changeOf(count, limits), named);
  }

  /** @internal */
  protected get own(): readonly ContinuousLimit[] {
    return this.limits;
  }

  /** @internal */
  protected describe(): Description {
    return ['KeyedLimitSet', { limits: describedLimits(this.limits) }];
  }
}
