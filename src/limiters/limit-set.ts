import { createLimitSetCell } from '../kernel/limit-set/cell.ts';
import { type HostedLimitSet, openLimitSet } from '../kernel/limit-set/host.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import { Bucket } from './bucket.ts';
import { Lease, type LeaseOptions } from './lease.ts';
import {
  type ContinuousLimit,
  changeOf,
  describedLimits,
  initialTokens,
  type LimitsChange,
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
  type SharedOptions,
} from './opening.ts';
import { limitsBelow, type RefusedMessage } from './refused.ts';
import type { Region } from './region.ts';
import type { Description } from './state.ts';
import { limitSetTerms } from './terms.ts';
import { putInForce } from './waiting.ts';

/** Options of {@link LimitSet.create}. */
export interface LimitSetOptions extends SeveralLimits, SharedOptions {
  /** Initial number of tokens under each limit: 0 to the smallest burst. Default: full. */
  readonly initial?: number;
}

const OPTIONS: Known<LimitSetOptions> = /* @__PURE__ */ joined(SHARED_OPTIONS, {
  limits: true,
  initial: true,
});

/**
 * Several limits that hold together, shared by any number of threads: 10 a second and 100 a minute.
 * A call is admitted if all of them admit it, and then counts against each, in one atomic step; a
 * refused call takes nothing. Each limit is that of a {@link TokenBucket}: in any interval of t
 * seconds all threads together are admitted at most burst + rate * t tokens, for each limit.
 *
 * If over 60 threads are in the middle of a call, or were terminated there, a call throws a
 * RateLimitError `ERR_BUCKET_BUSY` and takes nothing: try again.
 *
 * @example
 * ```ts
 * const api = LimitSet.create({
 *   limits: [
 *     { rate: 10, burst: 10 },
 *     { rate: per(100, 'minute'), burst: 100 },
 *   ],
 * });
 * if (!api.tryConsume()) {
 *   const { limits } = api.decide(0); // the state of each limit
 * }
 * ```
 */
export class LimitSet extends Bucket<'limit-set'> {
  /** @internal */
  declare protected readonly kernel: HostedLimitSet;

  private constructor(opened: OpenLimiter<'limit-set'>) {
    super(opened, openLimitSet);
  }

  /**
   * Creates a set of 1 to 8 limits, full unless `initial` says otherwise.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: LimitSetOptions): LimitSet {
    const schedules = schedulesOf(checkOptions(options, OPTIONS).limits);
    const tokens = initialTokens(schedules, options.initial);
    const initial = schedules.map(({ burst }) => tokens ?? burst);
    const { clock, region, stats, kernel } = checkShared(options);
    const nowUs = clock.now();
    const cell = createLimitSetCell({ schedules, nowUs, initial, stats, region, kernel });
    return new LimitSet({ kind: 'limit-set', cell, clock, kernel });
  }

  /**
   * Opens the set named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const limits = [{ rate: 10, burst: 10 }, { rate: 1, burst: 100 }];
   * const api = LimitSet.open(region, 'api', { limits });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(region: Region, name: string, options: OpenOptions<LimitSetOptions>): LimitSet {
    const maker = { ...limitSetTerms, known: OPTIONS, made: LimitSet };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the set behind a handle.
   *
   * @throws HandleError if `handle` is not a limit set's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'limit-set'>): LimitSet {
    return new LimitSet(find(limitSetTerms, handle));
  }

  /** The smallest burst. */
  get burst(): number {
    return this.limit;
  }

  /** The limits in force, in the order given. `rate` and `burst` are the smallest of them. */
  get limits(): readonly ContinuousLimit[] {
    return this.kernel.schedules().map(({ rate, burst }) => ({ rate, burst }));
  }

  /** @internal */
  refusal(n: number): Partial<RefusedMessage> {
    return limitsBelow(n, this.kernel, this.clock);
  }

  /** @internal */
  protected override describe(): Description {
    return ['LimitSet', { limits: describedLimits(this.limits), ...this.contents() }];
  }

  /**
   * Creates a private stock of tokens for this thread, spent without touching shared memory: see
   * {@link Lease}.
   *
   * @throws RangeError, TypeError if `size` is not an integer from 1 to 1,048,576.
   */
  lease(options: LeaseOptions): Lease {
    return new Lease(this, this.kernel, options);
  }

  /**
   * Changes the limits for all threads at once, without a lock: all of them change at the same
   * instant. Pass one change for each limit; omitted fields keep their value. The set keeps its
   * tokens and its debt under each limit, as {@link TokenBucket.reconfigure} does.
   *
   * @example
   * ```ts
   * const api = LimitSet.create({ limits: [{ rate: 10, burst: 10 }, { rate: 1, burst: 100 }] });
   * api.reconfigure({ limits: [{}, { rate: 5 }] });
   * ```
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  reconfigure(change: LimitsChange): void {
    const { limits } = checkOptions(change, { limits: true }, 'change');
    putInForce(this, this.kernel, changeOf(this.kernel.count, limits));
  }
}
