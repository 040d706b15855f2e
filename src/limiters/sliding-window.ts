import { openWindow } from '../kernel/core.ts';
import { createWindowCell, openWindowCell, readWindow } from '../kernel/window/cell.ts';
import { checkWindowLimit, firstSlotWord } from '../kernel/window/limit.ts';
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
  /** The most that the window admits: an integer from 1 to 1,073,741,823. */
  readonly limit: number;
  /**
   * Length of the window in milliseconds: 0.001 to 1e11 (3.2 years), fractions allowed. A slot must
   * last 0.001 ms at least, and twice that for each bit of the limit beyond 14: 0.064 ms at a
   * million, 65.5 ms at the most.
   */
  readonly intervalMs: number;
  /** Into how many slots the window is cut: an integer from 1 to 4096. Default 10. */
  readonly slots?: number;
}

/**
 * At most `limit` admissions in any `slots` consecutive slots of time, each `intervalMs / slots`
 * long (rounded up to 1/16 microsecond), counted from the limiter's creation. Slots drop out one by
 * one as time goes on, and what they held can be admitted again.
 *
 * It follows that any stretch of `intervalMs` less one slot admits at most `limit`, wherever it
 * starts; {@link SlidingLog} keeps that for the whole of `intervalMs`, at 8 bytes for each unit of
 * the limit. This one takes 128 bytes, and 8 for each slot.
 *
 * A call that is refused leaves no trace, so a steady overload is still admitted at the limit. While
 * a clock that stepped back has not caught up, the slot goes on. It counts time for 17.8 years.
 *
 * Counters of sub-windows as in https://blog.cloudflare.com/counting-things-a-lot-of-different-things/,
 * but with every slot counted, instead of two that are weighted.
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
  /** Into how many slots the window is cut. */
  readonly slots: number;

  private constructor(opened: OpenLimiter<'sliding-window'>) {
    super(opened, openWindow('sliding-window', opened.cell, opened.kernel));
    const { intervalMs, slots } = readWindow(opened.cell);
    this.intervalMs = intervalMs;
    this.slots = slots;
  }

  /**
   * Makes a limiter; its first slot starts now.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
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
   * Attaches this thread to the limiter of a handle.
   *
   * @throws HandleError if it is not a sliding window's handle, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'sliding-window'>): SlidingWindow {
    return new SlidingWindow(find('sliding-window', handle, openWindowCell));
  }
}
