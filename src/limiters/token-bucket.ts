import { createBucketCell, openBucketCell } from '../kernel/bucket/cell.ts';
import { Tenure } from '../kernel/bucket/tenure.ts';
import { checkNumber, checkObject } from '../options.ts';
import { Bucket } from './bucket.ts';
import { LEASE_SIZE, Lease, type LeaseOptions } from './lease.ts';
import { type BucketLimit, changedSchedule, type LimitChange, scheduleOf } from './limit.ts';
import { checkShared, find, type LimiterHandle, type SharedOptions } from './opening.ts';

/** Options of {@link TokenBucket.create}. */
export type TokenBucketOptions = BucketLimit &
  SharedOptions & {
    /** Tokens at the start: 0 to `burst`. Default: a full bucket. */
    readonly initial?: number;
  };

/**
 * A token bucket that any number of threads share: `rate` tokens flow in every second, at most
 * `burst` are held, and each admission takes some out. In any interval of t seconds at most
 * burst + rate * t tokens are admitted, over all threads together; with a quantum, burst and the
 * fills that fall into the interval.
 *
 * Its whole state is one 64-bit word: the instant at which the bucket was empty, as in folly's
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
   * Makes a bucket; it starts full unless `initial` says otherwise.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
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
   * Attaches this thread to the bucket of a handle.
   *
   * @throws HandleError if it is not a token bucket's handle, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'token-bucket'>): TokenBucket {
    return new TokenBucket(find('token-bucket', handle, openBucketCell));
  }

  /** The most tokens that the bucket holds. */
  get burst(): number {
    return this.limit;
  }

  /**
   * Takes tokens in stock for this thread, which then spends them without touching shared memory: see
   * {@link Lease}.
   *
   * @throws RangeError, TypeError for a size that is no integer from 1 to 1,048,576.
   */
  lease(options: LeaseOptions): Lease {
    const size = checkNumber('size', checkObject('options', options).size, LEASE_SIZE);
    return new Lease(this, this.kernel, new Tenure(this.place), size);
  }

  /**
   * Changes the limit for all threads at once, without a lock: every call sees the old limit or the
   * new one. Tokens are kept, up to the new burst, and so is debt, up to 4.4 years of it. Calls that
   * wait keep their places, in tokens: each wakes at the instant at which its tokens are there by the
   * new limit. What is left out stays as it is.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
   * @throws RateLimitError `ERR_RECONFIGURE_BUSY` if too many threads reconfigure at once.
   */
  reconfigure(limit: LimitChange): void {
    this.replaceSchedule(changedSchedule(this.schedule, checkObject('limit', limit)));
  }
}
