import { createBucketCell } from '../kernel/bucket/cell.ts';
import { HostedComposite } from '../kernel/bucket/composite.ts';
import { createCompositeCell, openTokenBucketCell } from '../kernel/bucket/composite-cell.ts';
import { Tenure } from '../kernel/bucket/record.ts';
import type { Schedule } from '../kernel/bucket/schedule.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import { checkNumber } from '../options.ts';
import { Bucket } from './bucket.ts';
import type { Description } from './described.ts';
import { LEASE_SIZE, Lease, type LeaseOptions } from './lease.ts';
import {
  type BucketLimit,
  type ContinuousLimit,
  LIMIT_OPTIONS,
  type LimitChange,
  limitOf,
  startUs,
} from './limit.ts';
import type { OpenOptions } from './named-limiter.ts';
import {
  checkShared,
  find,
  type LimiterHandle,
  SHARED_OPTIONS,
  type SharedOptions,
} from './opening.ts';
import { openByName } from './opening-by-name.ts';
import type { Region } from './region.ts';
import {
  changeOf,
  initialOf,
  type LimitsChange,
  type SeveralLimits,
  schedulesOf,
} from './several-limits.ts';
import { bucketCell } from './terms.ts';

/** Options of {@link TokenBucket.create}. */
export type TokenBucketOptions = (BucketLimit | SeveralLimits) &
  SharedOptions & {
    /**
     * Initial number of tokens: 0 to `burst`; with several limits, the number under each, at most
     * the smallest burst. Default: full.
     */
    readonly initial?: number;
    /**
     * With a quantum: the instant of one fill in milliseconds since the Unix epoch, such as
     * midnight for a daily quota. Other fills are whole intervals before and after it. It is
     * converted to the limiter's clock once, so later changes of the wall clock do not move the
     * fills; a `ManualClock` is taken as the wall clock. Default: the bucket's creation.
     */
    readonly alignToMs?: number;
  };

const OPTIONS: Known<TokenBucketOptions> = /* @__PURE__ */ joined(LIMIT_OPTIONS, SHARED_OPTIONS, {
  limits: true,
  initial: true,
  alignToMs: true,
});
const CHANGE_OPTIONS = /* @__PURE__ */ joined(LIMIT_OPTIONS, { limits: true });

/**
 * A token bucket shared by any number of threads. `rate` tokens flow in per second, the bucket
 * holds at most `burst`, and each admission takes some out. In any interval of t seconds all
 * threads together are admitted at most burst + rate * t tokens; with a quantum, burst plus the
 * fills within the interval.
 *
 * Its state is one 64-bit word, the instant at which the bucket was empty, as in folly's
 * TokenBucket (https://github.com/facebook/folly/blob/main/folly/TokenBucket.h).
 *
 * @example
 * ```ts
 * const bucket = TokenBucket.create({ rate: 100, burst: 10 });
 * if (bucket.tryConsume()) serve();
 * await bucket.wait(5);
 * new Worker(url, { workerData: bucket.handle }); // there: TokenBucket.attach(workerData)
 * ```
 */
export class TokenBucket extends Bucket<'token-bucket'> {
  /**
   * Creates a bucket, full unless `initial` says otherwise. Pass `limits` for several limits: a
   * call is admitted if all of them admit it, and then counts against each, in one atomic step.
   *
   * @example
   * ```ts
   * const bucket = TokenBucket.create({
   *   limits: [
   *     { rate: 10, burst: 10 },
   *     { rate: per(100, 'minute'), burst: 100 },
   *   ],
   * });
   * ```
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: TokenBucketOptions): TokenBucket {
    const schedules = schedulesOf(checkOptions(options, OPTIONS));
    const initials = initialOf(schedules, options.initial);
    const { clock, region, stats, kernel } = checkShared(options);
    const kind = 'token-bucket';
    const shared = { nowUs: startUs(clock, options), stats, region, kernel };
    const cell =
      schedules.length === 1
        ? createBucketCell({ kind, schedule: schedules[0], initial: initials[0], ...shared })
        : createCompositeCell({ schedules, initial: initials, ...shared });
    return new TokenBucket({ kind, cell, clock, kernel });
  }

  /**
   * Opens the bucket named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const bucket = TokenBucket.open(region, 'api', { rate: 100, burst: 10 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(region: Region, name: string, options: OpenOptions<TokenBucketOptions>): TokenBucket {
    return openByName(NAMED, region, name, options);
  }

  /**
   * Attaches this thread to the bucket behind a handle.
   *
   * @throws HandleError if `handle` is not a token bucket's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'token-bucket'>): TokenBucket {
    return new TokenBucket(find('token-bucket', handle, openTokenBucketCell));
  }

  /** The largest number of tokens in the bucket; with several limits, the smallest burst. */
  get burst(): number {
    return this.limit;
  }

  /** The limits in force, in the order given. */
  get limits(): readonly ContinuousLimit[] {
    return this.#schedules().map(({ rate, burst }) => ({ rate, burst }));
  }

  #schedules(): readonly Schedule[] {
    const { kernel } = this;
    return kernel instanceof HostedComposite ? kernel.live().schedules : [kernel.schedule()];
  }

  /** @internal */
  protected override describe(): Description {
    if (this.kernel instanceof HostedComposite) {
      const limits = this.limits.map(({ rate, burst }) => `${burst} at ${rate}/s`).join(' and ');
      return ['TokenBucket', { limits, ...this.contents() }];
    }
    const { rate, burst, ...fills } = limitOf(this.schedule);
    return ['TokenBucket', { rate, ...fills, burst, ...this.contents() }];
  }

  /**
   * Creates a private stock of tokens for this thread, spent without touching shared memory: see
   * {@link Lease}.
   *
   * @throws RangeError, TypeError if `size` is not an integer from 1 to 1,048,576.
   */
  lease(options: LeaseOptions): Lease {
    const size = checkNumber('size', checkOptions(options, { size: true }).size, LEASE_SIZE);
    return new Lease(this, this.kernel, new Tenure(this.place), size);
  }

  /**
   * Changes the limit for all threads at once, without a lock: each call sees either the old limit
   * or the new one. The bucket keeps its tokens, up to the new burst, and its debt, up to 4.4
   * years' worth. Waiting callers keep their places in the queue, and each wakes when its tokens
   * are due under the new limit. Omitted fields keep their value.
   *
   * If the bucket has several limits, pass one change for each: `{ limits: [{}, { rate: 5 }] }`.
   * All of them change at the same instant.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_RECONFIGURE_BUSY` if too many threads reconfigure at once.
   */
  reconfigure(limit: LimitChange | LimitsChange): void {
    checkOptions(limit, CHANGE_OPTIONS, 'limit');
    const { kernel } = this;
    const isComposite = kernel instanceof HostedComposite;
    const change = changeOf(isComposite ? kernel.count : 1, limit);
    if (isComposite) kernel.change(this.clock.now(), change);
    else kernel.reconfigure(this.clock.now(), change([kernel.schedule()])[0] as Schedule); // one
    this.announce();
  }
}

/** How `open` creates one. */
const NAMED = {
  kind: 'token-bucket' as const,
  known: OPTIONS,
  create: (options: TokenBucketOptions) => TokenBucket.create(options),
  attach: (handle: LimiterHandle<'token-bucket'>) => TokenBucket.attach(handle),
  cell: bucketCell,
  changeable: ['rate', 'burst', 'quantum', 'fillIntervalMs', 'limits'],
  reconfigure: (limiter: TokenBucket, change: never) => limiter.reconfigure(change),
};
