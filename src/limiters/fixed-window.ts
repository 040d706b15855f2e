import { MAX_WINDOW_LIMIT } from '../kernel/window/limit.ts';
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
import { fixedWindowTerms } from './terms.ts';
import {
  createWindow,
  WINDOW_OPTIONS,
  type WindowChange,
  WindowLimiter,
  type WindowOptions,
} from './window.ts';

/** Options of {@link FixedWindow.create}. */
export interface FixedWindowOptions extends WindowOptions {
  /**
   * Read the clock only when the window is full, which makes calls cheaper. A window then lasts
   * until a call finds it full: after idling, the rest of the old window is admitted first, so up
   * to twice the limit can pass at one instant. Applies to all threads. Default false.
   */
  readonly allowDoubleBurst?: boolean;
}

const OPTIONS: Known<FixedWindowOptions> = /* @__PURE__ */ joined(WINDOW_OPTIONS, {
  allowDoubleBurst: true,
});

/**
 * Admits at most `limit` tokens per window of `intervalMs`. The first window opens when the limiter
 * is created. A call after the window's end opens the next one. Around the boundary of two windows,
 * up to twice the limit can pass within one `intervalMs`; {@link SlidingWindow} and
 * {@link SlidingLog} are stricter.
 *
 * Windows do not overlap. Each lasts at least `intervalMs`, rounded up to a tick: 1/16 microsecond
 * for limits up to 127, doubling with each further bit of the limit (512 µs for a million). If the
 * clock steps back, the window lasts longer. A limiter works for 17.8 years after its creation or
 * the latest change of its limit.
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
  private constructor(opened: OpenLimiter<'fixed-window'>) {
    super(opened);
  }

  /**
   * Creates a limiter. Its first window opens now.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: FixedWindowOptions): FixedWindow {
    const { allowDoubleBurst } = checkOptions(options, OPTIONS);
    const own = { maxLimit: MAX_WINDOW_LIMIT, allowDoubleBurst };
    return new FixedWindow(createWindow('fixed-window', options, own));
  }

  /**
   * Opens the limiter named `name` in a region, or creates it. All threads, and all processes that
   * share the region, get the same one. Options as for {@link create}.
   *
   * @example
   * ```ts
   * const region = Region.create();
   * const window = FixedWindow.open(region, 'api', { limit: 100, intervalMs: 1000 });
   * ```
   * @throws HandleError `ERR_NAME_MISMATCH` if the name belongs to another kind of limiter, or to
   * one with other options, unless `onMismatch` allows it.
   * @throws RangeError, TypeError, RateLimitError as {@link create} does.
   */
  static open(region: Region, name: string, options: OpenOptions<FixedWindowOptions>): FixedWindow {
    const maker = { ...fixedWindowTerms, known: OPTIONS, made: FixedWindow };
    return openByName(maker, region, name, options);
  }

  /**
   * Attaches this thread to the limiter behind a handle.
   *
   * @throws HandleError if `handle` is not a fixed window's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'fixed-window'>): FixedWindow {
    return new FixedWindow(find(fixedWindowTerms, handle));
  }

  /** @internal */
  protected describe(): Description {
    const { limit, intervalMs } = this;
    return ['FixedWindow', { limit, intervalMs, tokens: this.available() }];
  }

  /**
   * Puts back unused tokens that you took through this object, wakes waiting callers, and returns
   * their number. Only tokens that this object took in the current window can be put back;
   * others lapse. After a change of the limit and with `allowDoubleBurst`, all lapse.
   *
   * A return counts against the latest tokens taken. Return unused tokens before their window ends,
   * or not at all.
   *
   * @throws RangeError, TypeError if `n` is not an integer >= 0.
   */
  returnTokens(n: number): number {
    return this.putBack(n);
  }

  /**
   * Changes the limit for all threads at once, without a lock: each call sees either the old limit
   * or the new one. The current window keeps its start and its count, and ends the new `intervalMs`
   * after its start. If it is over, by the old interval or by the new one, the next window opens
   * now; with `allowDoubleBurst`, at the first call that finds it full. Waiting callers try again.
   * Omitted fields keep their value.
   *
   * @throws RangeError, TypeError for an invalid field, naming it.
   */
  reconfigure(change: WindowChange): void {
    this.change(change);
  }
}
