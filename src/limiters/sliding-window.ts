import { boundsOf } from '../kernel/window/cell.ts';
import { checkOptions, joined, type Known } from '../known-options.ts';
import {
  find,
  type LimiterHandle,
  type OpenLimiter,
  type OpenOptions,
  openByName,
} from './opening.ts';
import type { Region } from './region.ts';
import type { Description } from './state.ts';
import { slidingWindowTerms } from './terms.ts';
import {
  createWindow,
  WINDOW_OPTIONS,
  type WindowChange,
  WindowLimiter,
  type WindowOptions,
} from './window.ts';

const DEFAULT_SLOTS = 10;

/** Options of {@link SlidingWindow.create}. */
export interface SlidingWindowOptions extends WindowOptions {
  /**
   * Number of slots in the window: an integer from 1 to 4096. Default 10. A slot must last at least
   * 0.001 ms, doubled for each bit of `maxLimit` beyond 11: 0.512 ms for a million, 0.53 s for the
   * largest.
   */
  readonly slots?: number;
  /**
   * The largest limit that `reconfigure` can set: an integer from 1 to 1,073,741,823. Default
   * `limit`.
   */
  readonly maxLimit?: number;
}

const OPTIONS: Known<SlidingWindowOptions> = /* @__PURE__ */ joined(WINDOW_OPTIONS, {
  slots: true,
  maxLimit: true,
});

/**
 * Admits at most `limit` tokens in any `slots` consecutive slots. Slots are counted from the
 * limiter's creation, each `intervalMs / slots` long (rounded up to 1/16 microsecond). As each slot
 * leaves the window, its tokens become available again.
 *
 * Any period of `intervalMs` minus one slot admits at most `limit`, wherever it starts.
 * {@link SlidingLog} guarantees this for all of `intervalMs`, at 8 bytes per unit of the limit; a
 * sliding window takes 576 bytes plus 8 per slot.
 *
 * Refused calls do not count, so under steady overload calls are still admitted at the limit. If
 * the clock steps back, the current slot lasts until it has caught up. A limiter works for 17.8
 * years after its creation.
 *
 * Based on https://blog.cloudflare.com/counting-things-a-lot-of-different-things/, with a count per
 * slot instead of two weighted counts.
 *
 * @example
 * ```ts
 * const window = SlidingWindow.create({ limit: 100, intervalMs: 60_000, slots: 60 });
 * if (window.tryConsume()) serve();
 * ```
 */
export class SlidingWindow extends WindowLimiter<'sliding-window'> {
  /** Number of slots in the window. */
  readonly slots: number;
  /** The largest limit that `reconfigure` can set. */
  readonly maxLimit: number;

  private constructor(opened: OpenLimiter<'sliding-window'>) {
    super(opened);
    const { slots, maxLimit } = boundsOf(opened.cell);
    this.slots = slots;
    this.maxLimit = maxLimit;
  }

  /**
   * Creates a limiter. Its first slot starts now.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SlidingWindowOptions): SlidingWindow {
    const { slots = DEFAULT_SLOTS, maxLimit } = checkOptions(options, OPTIONS);
    return new SlidingWindow(createWindow('sliding-window', options, { slots, maxLimit }));
  }

  /**
   * Opens the limiter named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const window = SlidingWindow.open(region, 'api', { limit: 100, intervalMs: 1000 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(
    region: Region,
    name: string,
    options: OpenOptions<SlidingWindowOptions>,
  ): SlidingWindow {
    const maker = { ...slidingWindowTerms, known: OPTIONS, made: SlidingWindow };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the limiter behind a handle.
   *
   * @throws HandleError if `handle` is not a sliding window's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'sliding-window'>): SlidingWindow {
    return new SlidingWindow(find(slidingWindowTerms, handle));
  }

  /** @internal */
  protected describe(): Description {
    const { limit, intervalMs } = this;
    return ['SlidingWindow', { limit, intervalMs, slots: this.slots, tokens: this.available() }];
  }

  /**
   * Puts back unused tokens that you took through this object, wakes waiting callers, and returns
   * their number. Only tokens that this object took in the current slot can be put back; others
   * become available when their slot leaves the window. After a change of the limit, none can be
   * put back. A return counts against the latest tokens taken.
   *
   * @throws RangeError, TypeError if `n` is not an integer >= 0.
   */
  returnTokens(n: number): number {
    return this.putBack(n);
  }

  /**
   * Changes the limit for all threads at once, without a lock: each call sees either the old limit
   * or the new one. Tokens in the window keep counting. If only `limit` changes, they leave the
   * window when they would have. If `intervalMs` changes, they move to a new slot that begins now,
   * so all leave one new interval later. Waiting callers try again. Omitted fields keep their
   * value.
   *
   * @throws RangeError, TypeError for an invalid field, naming it; `limit` is at most `maxLimit`.
   */
  reconfigure(change: WindowChange): void {
    this.change(change);
  }
}
