import { boundsOf } from '../kernel/window/cell.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import type { Takeback } from './limiter.ts';
import {
  find,
  type LimiterHandle,
  type OpenLimiter,
  type OpenOptions,
  openByName,
} from './opening.ts';
import type { Region } from './region.ts';
import type { Description } from './state.ts';
import { slidingLogTerms } from './terms.ts';
import {
  createWindow,
  WINDOW_OPTIONS,
  type WindowChange,
  WindowLimiter,
  type WindowOptions,
} from './window.ts';

/** Options of {@link SlidingLog.create}. */
export interface SlidingLogOptions extends WindowOptions {
  /**
   * The largest limit that `reconfigure` can set: an integer from 1 to 16,777,216, of 8 bytes each.
   * Default `limit`.
   */
  readonly maxLimit?: number;
}

const OPTIONS: Known<SlidingLogOptions> = /* @__PURE__ */ joined(WINDOW_OPTIONS, {
  maxLimit: true,
});

/**
 * Admits at most `limit` tokens in any half-open interval of `intervalMs`, wherever it starts: the
 * strictest of all limiters. It stores the times of the last `maxLimit` admissions, to
 * 1/16 microsecond, in 576 bytes plus 8 for each.
 *
 * Taking one token reads one entry, whatever the limit. Taking n tokens writes n entries; they are
 * admitted at one instant, or not at all. `consumeOrDrain`, `decide` and `available` search the
 * ring in log2(limit) steps. If the clock steps back, calls are refused until it has caught up.
 * A limiter works for 12 years after its creation.
 *
 * Based on the sliding log (https://en.wikipedia.org/wiki/Rate_limiting), stored as a ring.
 *
 * @example
 * ```ts
 * const log = SlidingLog.create({ limit: 100, intervalMs: 60_000 });
 * await log.wait(); // never more than 100 calls in any minute
 * ```
 */
export class SlidingLog extends WindowLimiter<'sliding-log'> {
  /** The largest limit that `reconfigure` can set. */
  readonly maxLimit: number;

  private constructor(opened: OpenLimiter<'sliding-log'>) {
    super(opened);
    this.maxLimit = boundsOf(opened.cell).maxLimit;
  }

  /** An admission overwrites an older one, so it cannot be undone. @internal */
  override get takeback(): Takeback {
    return 'none';
  }

  /**
   * Creates a limiter with its whole limit available, unless `initial` says otherwise.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SlidingLogOptions): SlidingLog {
    const { maxLimit } = checkOptions(options, OPTIONS);
    return new SlidingLog(createWindow('sliding-log', options, { maxLimit }));
  }

  /**
   * Opens the limiter named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const log = SlidingLog.open(region, 'api', { limit: 100, intervalMs: 1000 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(region: Region, name: string, options: OpenOptions<SlidingLogOptions>): SlidingLog {
    const maker = { ...slidingLogTerms, known: OPTIONS, made: SlidingLog };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the limiter behind a handle.
   *
   * @throws HandleError if `handle` is not a sliding log's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'sliding-log'>): SlidingLog {
    return new SlidingLog(find(slidingLogTerms, handle));
  }

  /** @internal */
  protected describe(): Description {
    const { limit, intervalMs } = this;
    return ['SlidingLog', { limit, intervalMs, tokens: this.available() }];
  }

  /**
   * Changes the limit for all threads at once, without a lock: each call sees either the old limit
   * or the new one. The new limit takes full effect at once, because it applies to past admissions
   * too. Waiting callers try again. Omitted fields keep their value.
   *
   * @throws RangeError, TypeError for an invalid field, naming it; `limit` is at most `maxLimit`.
   */
  reconfigure(change: WindowChange): void {
    this.change(change);
  }
}
