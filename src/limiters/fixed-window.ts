import { createWindowCell, openWindowCell, readWindow } from '../kernel/window/cell.ts';
import { openFixedWindow } from '../kernel/window/fixed-window.ts';
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
  /** Maximum number of tokens per window: an integer from 1 to 1,073,741,823. */
  readonly limit: number;
  /** Minimum length of a window in milliseconds: 0.001 to 1e11 (3.2 years), fractions allowed. */
  readonly intervalMs: number;
}

/**
 * Admits at most `limit` tokens per window of `intervalMs`. When the interval is over, the first
 * call that finds the window full opens the next one. The cheapest limiter: it reads no clock while
 * the window has room. Around the boundary of two windows, up to twice the limit can pass within
 * one `intervalMs`; {@link SlidingWindow} and {@link SlidingLog} are stricter.
 *
 * Windows follow one another without gaps. Each lasts at least `intervalMs`, rounded up to a tick:
 * 1/16 microsecond for limits up to 1,023, doubling with each further bit of the limit (64 µs for a
 * million). If the clock steps back, the window lasts longer. A limiter works for 17.8 years after
 * its creation.
 *
 * Based on the fixed-window counter (https://en.wikipedia.org/wiki/Rate_limiting), with the
 * window's start and count in one word.
 *
 * @example
 * ```ts
 * const window = FixedWindow.create({ limit: 100, intervalMs: 60_000 });
 * if (window.tryConsume()) serve();
 * ```
 */
export class FixedWindow extends WindowLimiter<'fixed-window'> {
  /** Minimum length of a window in milliseconds. */
  readonly intervalMs: number;

  private constructor(opened: OpenLimiter<'fixed-window'>) {
    super(opened, openFixedWindow(opened.cell, opened.kernel));
    this.intervalMs = readWindow(opened.cell).intervalMs;
  }

  /**
   * Creates a limiter. Its first window opens now.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
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
   * Attaches this thread to the limiter behind a handle.
   *
   * @throws HandleError if `handle` is not a fixed window's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'fixed-window'>): FixedWindow {
    return new FixedWindow(find('fixed-window', handle, openWindowCell));
  }
}
