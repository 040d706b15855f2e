import { createWindowCell, openWindowCell, readWindow } from '../kernel/window/cell.ts';
import { checkWindowLimit } from '../kernel/window/limit.ts';
import { openSlidingLog } from '../kernel/window/sliding-log.ts';
import { clockTicks, logEpochTicks } from '../kernel/window/time.ts';
import { checkObject } from '../options.ts';
import {
  checkShared,
  find,
  type LimiterHandle,
  type OpenLimiter,
  type SharedOptions,
} from './opening.ts';
import { WindowLimiter } from './window.ts';

/** Options of {@link SlidingLog.create}. */
export interface SlidingLogOptions extends SharedOptions {
  /** Maximum number of tokens per interval: an integer from 1 to 16,777,216. Each takes 8 bytes. */
  readonly limit: number;
  /** Length of the interval in milliseconds: 0.001 to 1e11 (3.2 years), fractions allowed. */
  readonly intervalMs: number;
}

/**
 * Admits at most `limit` tokens in any half-open interval of `intervalMs`, wherever it starts: the
 * strictest of all limiters. It stores the times of the last `limit` admissions, to 1/16
 * microsecond, in 128 bytes plus 8 per unit of the limit.
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
  /** Length of the interval in milliseconds. */
  readonly intervalMs: number;

  private constructor(opened: OpenLimiter<'sliding-log'>) {
    super(opened, openSlidingLog(opened.cell, opened.kernel));
    this.intervalMs = readWindow(opened.cell).intervalMs;
  }

  /**
   * Creates a limiter with its whole limit available.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_REGION_FULL` if `region` has no room.
   */
  static create(options: SlidingLogOptions): SlidingLog {
    const { limit, intervalMs } = checkObject('options', options);
    const kind = 'sliding-log';
    const window = checkWindowLimit(kind, { limit, intervalMs, slots: 1 });
    const { clock, region, stats, kernel } = checkShared(options);
    const originTicks = clockTicks(clock.now()) - logEpochTicks(intervalMs);
    const cell = createWindowCell({ kind, limit: window, originTicks, word: 0n, stats, region });
    return new SlidingLog({ kind, cell, clock, kernel });
  }

  /**
   * Attaches this thread to the limiter behind a handle.
   *
   * @throws HandleError if `handle` is not a sliding log's, or its memory is damaged.
   */
  static attach(handle: LimiterHandle<'sliding-log'>): SlidingLog {
    return new SlidingLog(find('sliding-log', handle, openWindowCell));
  }
}
