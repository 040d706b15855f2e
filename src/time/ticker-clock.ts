import { HandleError } from '../errors.ts';
import { checkOptions } from '../known-options.ts';
import { readFields } from '../memory/handle.ts';
import { checkFlag } from '../options.ts';
import type { ClockHandle } from './clock.ts';
import { isPreciseByDefault } from './precise.ts';
import { systemClock } from './system-clock.ts';
import { checkPeriod, createTickerCell, TickerCell, TickerReader } from './ticker-reader.ts';
import { startTicker } from './ticker-thread.ts';

/** Stops the tickers of clocks that are collected as garbage. */
const dropped = /* @__PURE__ */ new FinalizationRegistry<() => void>((stop) => stop());

/** Options of {@link TickerClock.create}. */
export interface TickerClockOptions {
  /**
   * Milliseconds between ticks: 0.1 to 1000, fractions allowed. Default 1. With 0, the thread
   * publishes the time without pause, which takes a whole processor.
   */
  readonly periodMs?: number;
  /**
   * Tick within tens of microseconds of the period, by lowering the timer slack of the ticker's
   * thread on Linux. Default true, or false with `ZEROTIME_PRECISE=0` in the environment.
   */
  readonly precise?: boolean;
}

/**
 * A clock for limiters that are called millions of times a second: reading it loads one number. A
 * dedicated thread publishes the system clock's time in shared memory once per period.
 *
 * The clock lags by up to one period and is never ahead. If the ticker has ended, or is late by
 * more than ten periods, readers use the system clock until it ticks again. A reader notices this
 * at its first reading in a turn of the event loop, and within 128 readings in the same turn. Time
 * never runs backwards within a thread; simultaneous readings of two threads may differ by ten
 * periods.
 *
 * With `periodMs: 0` the clock lags by well below a microsecond while the ticker has a processor to
 * itself. Readers use the system clock if the lag exceeds 100 us.
 *
 * @example
 * ```ts
 * const clock = await TickerClock.create();
 * const bucket = TokenBucket.create({ rate: 1e6, burst: 1000, clock });
 * bucket.tryConsume();
 * clock.dispose();
 * ```
 */
export class TickerClock extends TickerReader {
  /** Ends the ticker that this object has started. */
  #end: (() => void) | undefined;

  private constructor(cell: TickerCell) {
    super(cell, systemClock);
  }

  /**
   * Starts a ticker: a worker thread that does not keep the process alive. Resolves at the first
   * tick. The thread ends when this clock is disposed of or collected as garbage, even if other
   * threads are attached to it.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  static async create(options: TickerClockOptions = {}): Promise<TickerClock> {
    const { periodMs = 1, precise } = checkOptions(options, { periodMs: true, precise: true });
    const cell = createTickerCell(checkPeriod(periodMs));
    const isPrecise = checkFlag('precise', precise, isPreciseByDefault());
    const stop = await startTicker(cell, isPrecise);
    const clock = new TickerClock(cell);
    clock.#end = () => {
      stop();
      cell.end();
    };
    dropped.register(clock, stop, clock);
    return clock;
  }

  /**
   * Attaches this thread to the ticker behind a handle.
   *
   * @throws HandleError if `handle` is not a ticker clock's.
   */
  static attach(handle: ClockHandle): TickerClock {
    const { name, buffer } = readFields("a clock's handle", handle, 'name', 'buffer');
    if (name !== 'ticker') {
      throw new HandleError('ERR_HANDLE_INVALID', "not a ticker clock's handle");
    }
    return new TickerClock(TickerCell.open(buffer));
  }

  /**
   * Ends the ticker's thread; readers in all threads continue with the system clock. Has no effect
   * on an attached clock: only the object that started the ticker can end it.
   */
  dispose(): void {
    this.#end?.();
    this.#end = undefined;
    dropped.unregister(this);
  }

  /** {@link dispose}, for `using`. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
