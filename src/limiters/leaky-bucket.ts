import { createBucketCell } from '../kernel/bucket/cell.ts';
import { type HostedBucket, openBucket } from '../kernel/bucket/host.ts';
import { continuous, largestBurst, type Schedule } from '../kernel/bucket/schedule.ts';
import { MAX_SPAN_TICKS } from '../kernel/constants.ts';
import { checkOptions, given, joined, type Known } from '../known-options.ts';
import { checkNumber } from '../options.ts';
import { Bucket } from './bucket.ts';
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
import { leakyBucketTerms } from './terms.ts';
import { putInForce } from './waiting.ts';

/** The limit of a leaky bucket. */
export interface LeakyLimit {
  /** Admissions per second: 1e-6 to 4e9, Infinity for unlimited, or 0 to pause. See `per()`. */
  readonly rate: number;
  /** Number of unused slots that can be made up at once: a number >= 0. Default 0. */
  readonly slack?: number;
}

/** Options of {@link LeakyBucket.create}. */
export interface LeakyBucketOptions extends LeakyLimit, SharedOptions {}

const LIMIT: Known<LeakyLimit> = { rate: true, slack: true };
const OPTIONS: Known<LeakyBucketOptions> = /* @__PURE__ */ joined(LIMIT, SHARED_OPTIONS, {});

function scheduleOf({ rate, slack = 0 }: LeakyLimit, ticksPerToken?: number): Schedule {
  checkNumber('slack', slack, { min: 0 });
  const most = largestBurst(MAX_SPAN_TICKS, continuous(rate || 1, 1).ticksPerToken) - 1;
  if (slack > most) {
    throw new RangeError(`slack must be at most ${most} at rate ${rate}, got ${slack}`);
  }
  return continuous(rate, 1 + slack, ticksPerToken);
}

/**
 * Paces calls evenly, one every 1/rate seconds. Unused slots expire, except for the last `slack`.
 * Equivalent to a token bucket with a burst of 1 + slack, and to GCRA
 * (https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm).
 *
 * @example
 * ```ts
 * const pace = LeakyBucket.create({ rate: 1000 });
 * for (const row of rows) {
 *   await pace.wait(1, { timeoutMs: 500 });
 *   send(row);
 * }
 * ```
 */
export class LeakyBucket extends Bucket<'leaky-bucket'> {
  /** @internal */
  declare protected readonly kernel: HostedBucket;

  private constructor(opened: OpenLimiter<'leaky-bucket'>) {
    super(opened, openBucket);
  }

  /**
   * Creates a leaky bucket. Its first slot is now.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: LeakyBucketOptions): LeakyBucket {
    const schedule = scheduleOf(checkOptions(options, OPTIONS));
    const { clock, region, stats, kernel } = checkShared(options);
    const kind = 'leaky-bucket';
    const nowUs = clock.now();
    // Slack is earned by idling, and a new bucket has not idled.
    const cell = createBucketCell({ kind, schedule, nowUs, initial: 1, stats, region, kernel });
    return new LeakyBucket({ kind, cell, clock, kernel });
  }

  /**
   * Opens the leaky bucket named `name` in a region, or creates it. All threads, and all processes
   * that share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const pace = LeakyBucket.open(region, 'api', { rate: 100 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(region: Region, name: string, options: OpenOptions<LeakyBucketOptions>): LeakyBucket {
    const maker = { ...leakyBucketTerms, known: OPTIONS, made: LeakyBucket };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the leaky bucket behind a handle.
   *
   * @throws HandleError if `handle` is not a leaky bucket's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'leaky-bucket'>): LeakyBucket {
    return new LeakyBucket(find(leakyBucketTerms, handle));
  }

  /** Number of unused slots that can be made up at once. */
  get slack(): number {
    return this.kernel.schedule().burst - 1;
  }

  /** @internal */
  protected override describe(): Description {
    return ['LeakyBucket', { rate: this.rate, slack: this.slack, ...this.contents() }];
  }

  /**
   * Changes the limit for all threads at once, without a lock. Omitted fields keep their value.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  reconfigure(limit: Partial<LeakyLimit>): void {
    const changes = given(checkOptions(limit, LIMIT, 'limit'), LIMIT);
    putInForce(this, this.kernel, ({ rate, burst, ticksPerToken }: Schedule) =>
      scheduleOf({ rate, slack: burst - 1, ...changes }, ticksPerToken),
    );
  }
}
