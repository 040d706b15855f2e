import { openWindow } from '../kernel/core.ts';
import { createWindowCell, openWindowCell, readWindow } from '../kernel/window/cell.ts';
import { checkWindowLimit } from '../kernel/window/limit.ts';
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

/** Options of {@link FixedWindow.create}. */
export interface FixedWindowOptions extends SharedOptions {
  /** The most that a window admits: an integer from 1 to 1,073,741,823. */
  readonly limit: number;
  /** Milliseconds that a window lasts at least: 0.001 to 1e11 (3.2 years), fractions allowed. */
  readonly intervalMs: number;
}

/**
 * At most `limit` admissions in a window of `intervalMs`; then the next window opens, with the first
 * call that finds no room in this one. The cheapest limiter, as it reads no clock while there is
 * room; but the end of one window and the start of the next together let up to twice the limit
 * through in one `intervalMs`. See {@link SlidingWindow} and {@link SlidingLog} for less.
 *
 * Windows lie back to back, and each is at least as long as the interval, to the tick: 1/16
 * microsecond at limits up to 1,023, and twice that for each further bit of the limit (64 µs at a
 * million). A clock that steps back prolongs a window. It counts time for 17.8 years.
 *
 * The counter per interval of the token-bucket libraries that gate on one shared counter
 * (https://en.wikipedia.org/wiki/Rate_limiting), with start and count in one word.
 *
 * @example
 * ```ts
 * const window = FixedWindow.create({ limit: 100, intervalMs: 60_000 });
 * if (window.tryConsume()) serve();
 * ```
 */
export class FixedWindow extends WindowLimiter<'fixed-window'> {
  /** Milliseconds that a window lasts at least. */
  readonly intervalMs: number;

  private constructor(opened: OpenLimiter<'fixed-window'>) {
    super(opened, openWindow('fixed-window', opened.cell, opened.kernel));
    this.intervalMs = readWindow(opened.cell).intervalMs;
  }

  /**
   * Makes a limiter; its first window opens now.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: FixedWindowOptions): FixedWindow {
    const { limit, intervalMs } = checkObject('options', options);
    const kind = 'fixed-window';
    const window = checkWindowLimit(kind, { limit, intervalMs, slots: 1 });
    const { clock, region, stats, kernel } = checkShared(options);
    const originTicks = clockTicks(clock.now());
    const cell = createWindowCell({ kind, limit: window, originTicks, word: 0n, stats, region });
    return new FixedWindow({ kind, cell, clock, kernel });
  }

  /**
   * Attaches this thread to the limiter of a handle.
   *
   * @throws HandleError if it is not a fixed window's handle, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'fixed-window'>): FixedWindow {
    return new FixedWindow(find('fixed-window', handle, openWindowCell));
  }
}
