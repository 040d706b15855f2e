import { HandleError } from '../errors.ts';
import { checkOptions } from '../known-options.ts';
import { readFields } from '../memory/read-fields.ts';
import { checkNumber } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';
import { systemClock } from './system-clock.ts';
import { PERIOD_MS, TickerCell } from './ticker-cell.ts';
import { startTicker } from './ticker-thread.ts';

/** Beyond this delay, readers ignore the ticker. */
const MOST_LATE_PERIODS = 10;
/**
 * While it sees the same tick, a reader checks the system clock at least once per this many
 * readings.
 */
const MOST_READINGS = 128;

/** Options of {@link TickerClock.create}. */
export interface TickerClockOptions {
  /** Milliseconds between ticks: 0.1 to 1000, fractions allowed. Default 1. */
  readonly periodMs?: number;
}

/**
 * A clock for limiters that are called millions of times a second: reading it loads one number. A
 * dedicated thread publishes the system clock's time in shared memory once per period.
 *
 * The clock lags by up to one period and is never ahead. If the ticker has ended, or is late by
 * more than ten periods, readers use the system clock until it ticks again. A reader notices at its
 * next reading, or within 128 readings if it reads continuously. Time never runs backwards within a
 * thread; two threads that read at the same moment may differ by ten periods.
 *
 * @example
 * ```ts
 * const clock = await TickerClock.create();
 * const bucket = TokenBucket.create({ rate: 1e6, burst: 1000, clock });
 * bucket.tryConsume();
 * clock.dispose();
 * ```
 */
export class TickerClock implements Clock {
  /** The kind of clock, as in its handle. */
  readonly name = 'ticker';
  readonly #cell: TickerCell;
  readonly #system: Clock;
  readonly #mostLateUs: number;
  readonly #beats: Int32Array<SharedArrayBuffer>;
  #stop: (() => void) | undefined;

  /** The latest time that this thread has read. */
  #nowUs = Number.NEGATIVE_INFINITY;
  /** The tick it was read from. */
  #beat = 0;
  /** Readings between two checks of the system clock, and how many of them are left. */
  #gap = 1;
  #left = 0;

  private constructor(cell: TickerCell, system: Clock, stop?: () => void) {
    this.#cell = cell;
    this.#system = system;
    this.#mostLateUs = MOST_LATE_PERIODS * cell.periodUs;
    this.#beats = cell.beats;
    this.#stop = stop;
  }

  /**
   * Starts a ticker: a worker thread that does not keep the process alive. Resolves at the first
   * tick.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  static async create(options: TickerClockOptions = {}): Promise<TickerClock> {
    const { periodMs = 1 } = checkOptions(options, { periodMs: true });
    checkNumber('periodMs', periodMs, PERIOD_MS);
    const cell = TickerCell.create(periodMs);
    return new TickerClock(cell, systemClock, await startTicker(cell));
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
    return TickerClock.over(TickerCell.open(buffer), systemClock);
  }

  /** Creates a reader of a cell in which the time of `system` is published. @internal */
  static over(cell: TickerCell, system: Clock): TickerClock {
    return new TickerClock(cell, system);
  }

  get handle(): ClockHandle {
    return { name: 'ticker', buffer: this.#cell.buffer };
  }

  now(): number {
    // A plain read costs a fifth of Atomics.load. If an optimizer caches it, the next look corrects
    // it.
    if (this.#beats[0] === this.#beat && --this.#left > 0) return this.#nowUs;
    return this.#look();
  }

  /** Reads the cell and the system clock, and decides which of them to use. */
  #look(): number {
    const beat = Atomics.load(this.#beats, 0);
    const publishedUs = this.#cell.now();
    const systemUs = this.#system.now();
    const lateUs = systemUs - publishedUs;
    // Even damaged memory cannot make this clock run ahead.
    const isInTime = lateUs >= 0 && lateUs <= this.#mostLateUs;
    const isSeenAgain = beat === this.#beat;
    this.#beat = beat;
    this.#gap = isInTime && isSeenAgain ? Math.min(2 * this.#gap, MOST_READINGS) : 1;
    this.#left = this.#gap;
    return this.#reach(isInTime ? publishedUs : systemUs);
  }

  /** Never moves back: an earlier reading of the system clock may be ahead of the ticker. */
  #reach(us: number): number {
    if (us > this.#nowUs) this.#nowUs = us;
    return this.#nowUs;
  }

  /** Sleeps on the system clock. Afterwards this thread reads `untilUs` or later. */
  async sleep(untilUs: number, options?: SleepOptions): Promise<void> {
    await this.#system.sleep(untilUs, options);
    this.#reach(untilUs);
  }

  sleepSync(untilUs: number, options?: BlockingSleepOptions): void {
    this.#system.sleepSync(untilUs, options);
    // An alarm may have ended the sleep early.
    if (this.#system.now() >= untilUs) this.#reach(untilUs);
  }

  /**
   * Ends the ticker's thread; readers in all threads continue with the system clock. Has no effect
   * on an attached clock: only the object that started the ticker can end it.
   */
  dispose(): void {
    if (this.#stop === undefined) return;
    this.#stop();
    this.#stop = undefined;
    this.#cell.end();
  }

  /** {@link dispose}, for `using`. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
