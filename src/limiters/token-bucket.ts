import { createBucketCell } from '../kernel/bucket/cell.ts';
import { type HostedBucket, openBucket } from '../kernel/bucket/host.ts';
import type { Schedule } from '../kernel/bucket/schedule.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import { Bucket } from './bucket.ts';
import { Lease, type LeaseOptions } from './lease.ts';
import {
  type BucketLimit,
  changedSchedule,
  initialTokens,
  LIMIT_OPTIONS,
  type LimitChange,
  limitOf,
  scheduleOf,
  startUs,
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
import type { Region } from './region.ts';
import type { Description } from './state.ts';
import { tokenBucketTerms } from './terms.ts';
import { putInForce } from './waiting.ts';

/** Options of {@link TokenBucket.create}. */
export type TokenBucketOptions = BucketLimit &
  SharedOptions & {
    /** Initial number of tokens: 0 to `burst`. Default: full. */
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
  initial: true,
  alignToMs: true,
});

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
  /** @internal */
  declare protected readonly kernel: HostedBucket;

  private constructor(opened: OpenLimiter<'token-bucket'>) {
    super(opened, openBucket);
  }

  /**
   * Creates a bucket, full unless `initial` says otherwise.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: TokenBucketOptions): TokenBucket {
    const schedule = scheduleOf(checkOptions(options, OPTIONS));
    const initial = initialTokens([schedule], options.initial) ?? schedule.burst;
    const { clock, region, stats, kernel } = checkShared(options);
    const kind = 'token-bucket';
    const nowUs = startUs(clock, options);
    const cell = createBucketCell({ kind, schedule, nowUs, initial, stats, region, kernel });
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
    const maker = { ...tokenBucketTerms, known: OPTIONS, made: TokenBucket };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the bucket behind a handle.
   *
   * @throws HandleError if `handle` is not a token bucket's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'token-bucket'>): TokenBucket {
    return new TokenBucket(find(tokenBucketTerms, handle));
  }

  /** The largest number of tokens in the bucket. */
  get burst(): number {
    return this.limit;
  }

  /** @internal */
  protected override describe(): Description {
    const { rate, burst, ...fills } = limitOf(this.kernel.schedule());
    return ['TokenBucket', { rate, ...fills, burst, ...this.contents() }];
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
   * Changes the limit for all threads at once, without a lock: each call sees either the old limit
   * or the new one. The bucket keeps its tokens, up to the new burst, and its debt, up to 4.4
   * years' worth. Waiting callers keep their places in the queue, and each wakes when its tokens
   * are due under the new limit. Omitted fields keep their value.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  reconfigure(limit: LimitChange): void {
    const change = checkOptions(limit, LIMIT_OPTIONS, 'limit');
    putInForce(this, this.kernel, (inForce: Schedule) => changedSchedule(inForce, change));
  }
}
