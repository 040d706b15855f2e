import { createBucketCell, openBucketCell } from '../kernel/bucket/cell.ts';
import { Tenure } from '../kernel/bucket/record.ts';
import { checkNumber, checkObject } from '../options.ts';
import { Bucket } from './bucket.ts';
import { LEASE_SIZE, Lease, type LeaseOptions } from './lease.ts';
import { type BucketLimit, changedSchedule, type LimitChange, scheduleOf } from './limit.ts';
import { checkShared, find, type LimiterHandle, type SharedOptions } from './opening.ts';

/** Options of {@link TokenBucket.create}. */
export type TokenBucketOptions = BucketLimit &
  SharedOptions & {
    /** Initial number of tokens: 0 to `burst`. Default `burst`. */
    readonly initial?: number;
  };

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
   * Creates a bucket, full unless `initial` says otherwise.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: TokenBucketOptions): TokenBucket {
    const schedule = scheduleOf(checkObject('options', options));
    const { burst } = schedule;
    const orInfinity = burst === Number.POSITIVE_INFINITY;
    const initial = checkNumber('initial', options.initial ?? burst, {
      min: 0,
      max: burst,
      orInfinity,
    });
    const { clock, region, stats, kernel } = checkShared(options);
    const kind = 'token-bucket';
    const nowUs = clock.now();
    const cell = createBucketCell({ kind, schedule, nowUs, initial, stats, region, kernel });
    return new TokenBucket({ kind, cell, clock, kernel });
  }

  /**
   * Attaches this thread to the bucket behind a handle.
   *
   * @throws HandleError if `handle` is not a token bucket's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'token-bucket'>): TokenBucket {
    return new TokenBucket(find('token-bucket', handle, openBucketCell));
  }

  /** The largest number of tokens in the bucket. */
  get burst(): number {
    return this.limit;
  }

  /**
   * Creates a private stock of tokens for this thread, spent without touching shared memory: see
   * {@link Lease}.
   *
   * @throws RangeError, TypeError if `size` is not an integer from 1 to 1,048,576.
   */
  lease(options: LeaseOptions): Lease {
    const size = checkNumber('size', checkObject('options', options).size, LEASE_SIZE);
    return new Lease(this, this.kernel, new Tenure(this.place), size);
  }

  /**
   * Changes the limit for all threads at once, without a lock: each call sees either the old limit
   * or the new one. The bucket keeps its tokens, up to the new burst, and its debt, up to 4.4
   * years' worth. Waiting calls keep their places in the queue, and each wakes when its tokens are
   * due under the new limit. Omitted fields keep their value.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_RECONFIGURE_BUSY` if too many threads reconfigure at once.
   */
  reconfigure(limit: LimitChange): void {
    this.replaceSchedule(changedSchedule(this.schedule, checkObject('limit', limit)));
  }
}
