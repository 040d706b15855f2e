import { createWindowCell, openWindowCell, readWindow } from '../kernel/window/cell.ts';
import { checkWindowLimit, firstSlotWord } from '../kernel/window/limit.ts';
import { openSlidingWindow } from '../kernel/window/sliding-window.ts';
import { clockTicks } from '../kernel/window/time.ts';
import { checkObject } from '../options.ts';
import {
  checkShared,
  find,
  type LimiterHandle,
  type OpenLimiter,
  type SharedOptions,
} from './opening.ts';
import { WindowLimiter } from './window.ts';

const DEFAULT_SLOTS = 10;

/** Options of {@link SlidingWindow.create}. */
export interface SlidingWindowOptions extends SharedOptions {
  /** Maximum number of tokens per window: an integer from 1 to 1,073,741,823. */
  readonly limit: number;
  /**
   * Length of the window in milliseconds: 0.001 to 1e11 (3.2 years), fractions allowed. A slot must
   * last at least 0.001 ms, doubled for each bit of the limit beyond 14: 0.064 ms for a million,
   * 65.5 ms for the largest limit.
   */
  readonly intervalMs: number;
  /** Number of slots in the window: an integer from 1 to 4096. Default 10. */
  readonly slots?: number;
}

/**
 * Admits at most `limit` tokens in any `slots` consecutive slots. Slots are counted from the
 * limiter's creation, each `intervalMs / slots` long (rounded up to 1/16 microsecond). As each slot
 * leaves the window, its tokens become available again.
 *
 * Any period of `intervalMs` less one slot admits at most `limit`, wherever it starts.
 * {@link SlidingLog} guarantees this for all of `intervalMs`, at 8 bytes per unit of the limit; a
 * sliding window takes 128 bytes plus 8 per slot.
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
  /** Length of the window in milliseconds. */
  readonly intervalMs: number;
  /** Number of slots in the window. */
  readonly slots: number;

  private constructor(opened: OpenLimiter<'sliding-window'>) {
    super(opened, openSlidingWindow(opened.cell, opened.kernel));
    const { intervalMs, slots } = readWindow(opened.cell);
    this.intervalMs = intervalMs;
    this.slots = slots;
  }

  /**
   * Creates a limiter. Its first slot starts now.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SlidingWindowOptions): SlidingWindow {
    const { limit, intervalMs, slots = DEFAULT_SLOTS } = checkObject('options', options);
    const kind = 'sliding-window';
    const window = checkWindowLimit(kind, { limit, intervalMs, slots });
    const { clock, region, stats, kernel } = checkShared(options);
    const originTicks = clockTicks(clock.now());
    const word = firstSlotWord(limit);
    const cell = createWindowCell({ kind, limit: window, originTicks, word, stats, region });
    return new SlidingWindow({ kind, cell, clock, kernel });
  }

  /**
   * Attaches this thread to the limiter behind a handle.
   *
   * @throws HandleError if `handle` is not a sliding window's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'sliding-window'>): SlidingWindow {
    return new SlidingWindow(find('sliding-window', handle, openWindowCell));
  }
}
