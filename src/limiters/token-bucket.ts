import { createBucketCell, openBucketCell } from '../kernel/bucket-cell.ts';
import { continuous, perInterval, type Schedule } from '../kernel/schedule.ts';
import { Tenure } from '../kernel/tenure.ts';
import { checkNumber, checkObject } from '../options.ts';
import { Bucket } from './bucket.ts';
import { LEASE_SIZE, Lease, type LeaseOptions } from './lease.ts';
import { checkShared, find, type LimiterHandle, type SharedOptions } from './opening.ts';

/** Tokens that flow in continuously. */
export interface ContinuousLimit {
  /** Tokens per second: 1e-6 to 4e9, or Infinity for unlimited. See `per()`. */
  readonly rate: number;
  /**
   * The most tokens that the bucket holds, and so the most that are admitted at one instant.
   * Greater than 0; at most 4.4 years' worth of tokens. May be left out where the rate is Infinity.
   */
  readonly burst: number;
}

/** Tokens that come `quantum` at a time, every `fillIntervalMs`, from the limiter's creation on. */
export interface QuantumLimit {
  /** Whole tokens, 1 to 2^50. */
  readonly quantum: number;
  /** Milliseconds, 0.001 to 1e11. */
  readonly fillIntervalMs: number;
  /** The most tokens that the bucket holds. */
  readonly burst: number;
}

/** Options of {@link TokenBucket.create}. */
export type TokenBucketOptions = (ContinuousLimit | QuantumLimit) &
  SharedOptions & {
    /** Tokens at the start: 0 to `burst`. Default: a full bucket. */
    readonly initial?: number;
  };

function scheduleOf(limit: Partial<ContinuousLimit & QuantumLimit>): Schedule {
  const { rate, quantum, fillIntervalMs, burst } = limit;
  if (quantum === undefined && fillIntervalMs === undefined) {
    const unlimited = rate === Number.POSITIVE_INFINITY ? rate : undefined;
    // A missing number fails the check that follows, with an error that names it.
    return continuous(rate as number, (burst ?? unlimited) as number);
  }
  if (rate !== undefined) {
    throw new TypeError('give rate, or quantum and fillIntervalMs, not both');
  }
  return perInterval(quantum as number, fillIntervalMs as number, burst as number);
}

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
    const cell = createBucketCell({ kind, schedule, nowUs, initial, stats, region });
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
  reconfigure(limit: Partial<ContinuousLimit> | Partial<QuantumLimit>): void {
    const given: Partial<ContinuousLimit & QuantumLimit> = checkObject('limit', limit);
    const { rate, burst, fillTicks, ticksPerToken, ticksPerMicro } = this.schedule;
    const inForce =
      fillTicks === 0 || given.rate !== undefined
        ? given.quantum === undefined && given.fillIntervalMs === undefined
          ? { rate }
          : {}
        : {
            quantum: fillTicks / ticksPerToken,
            fillIntervalMs: fillTicks / ticksPerMicro / 1000,
          };
    this.replaceSchedule(scheduleOf({ ...inForce, burst, ...given }));
  }
}
