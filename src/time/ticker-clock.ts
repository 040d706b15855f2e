import { HandleError } from '../errors.ts';
import { readFields } from '../memory/read-fields.ts';
import { checkNumber, checkObject } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';
import { systemClock } from './system-clock.ts';
import { PERIOD_MS, TickerCell } from './ticker-cell.ts';
import { startTicker } from './ticker-thread.ts';

/** A ticker that is later than this is not to be relied on. */
const MOST_LATE_PERIODS = 10;
/** A reader of one and the same tick looks at the system clock at least once in so many readings. */
const MOST_READINGS = 128;

/** Options of {@link TickerClock.create}. */
export interface TickerClockOptions {
  /** Milliseconds from one tick to the next: 0.1 to 1000. Default 1. */
  readonly periodMs?: number;
}

/**
 * The system clock's time, published in shared memory once a period by a thread of its own: to read
 * it is to load one number. For limiters that are asked millions of times a second.
 *
 * It lags behind by up to a period, and is never ahead. Where the ticker is dead, or late by more than
 * ten periods, a thread reads the system clock itself, until it ticks again; it notices at its next
 * reading, or within 128 if it reads all the time. Time never runs backwards for a thread; two threads
 * that read at the same moment may differ by ten periods.
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
  /** Its handle's name. */
  readonly name = 'ticker';
  readonly #cell: TickerCell;
  readonly #system: Clock;
  readonly #mostLateUs: number;
  readonly #beats: Int32Array<SharedArrayBuffer>;
  #stop: (() => void) | undefined;

  /** The latest instant that this thread has read. */
  #nowUs = Number.NEGATIVE_INFINITY;
  /** The tick that it is of. */
  #beat = 0;
  /** Readings from one look at the system clock to the next, and how many of them are left. */
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
   * Starts a ticker: a worker thread, which does not keep the process alive. Resolves when it ticks.
   *
   * @throws RangeError, TypeError for a period out of its range.
   */
  static async create(options: TickerClockOptions = {}): Promise<TickerClock> {
    const { periodMs = 1 } = checkObject('options', options);
    checkNumber('periodMs', periodMs, PERIOD_MS);
    const cell = TickerCell.create(periodMs);
    return new TickerClock(cell, systemClock, await startTicker(cell));
  }

  /**
   * Attaches to a ticker of another thread.
   *
   * @throws HandleError if `handle` is no ticker clock's.
   */
  static attach(handle: ClockHandle): TickerClock {
    const { name, buffer } = readFields("a clock's handle", handle, 'name', 'buffer');
    if (name !== 'ticker') {
      throw new HandleError('ERR_HANDLE_INVALID', "not a ticker clock's handle");
    }
    return TickerClock.over(TickerCell.open(buffer), systemClock);
  }

  /** Reads a cell that somebody else publishes the time of `system` in. @internal */
  static over(cell: TickerCell, system: Clock): TickerClock {
    return new TickerClock(cell, system);
  }

  get handle(): ClockHandle {
    return { name: 'ticker', buffer: this.#cell.buffer };
  }

  now(): number {
    // A plain read costs a fifth of Atomics.load. An optimizer might keep its result, but not past
    // the next look.
    if (this.#beats[0] === this.#beat && --this.#left > 0) return this.#nowUs;
    return this.#look();
  }

  /** Reads the cell and the system clock, and decides which of them to believe. */
  #look(): number {
    const beat = Atomics.load(this.#beats, 0);
    const publishedUs = this.#cell.now();
    const systemUs = this.#system.now();
    const lateUs = systemUs - publishedUs;
    // No memory, however damaged, makes this clock run ahead.
    const isInTime = lateUs >= 0 && lateUs <= this.#mostLateUs;
    const isSeenAgain = beat === this.#beat;
    this.#beat = beat;
    this.#gap = isInTime && isSeenAgain ? Math.min(2 * this.#gap, MOST_READINGS) : 1;
    this.#left = this.#gap;
    return this.#reach(isInTime ? publishedUs : systemUs);
  }

  /** Forwards only: what was read from the system clock may be ahead of what the ticker publishes. */
  #reach(us: number): number {
    if (us > this.#nowUs) this.#nowUs = us;
    return this.#nowUs;
  }

  /** Sleeps by the system clock. After it, this thread reads `untilUs` or later. */
  async sleep(untilUs: number, options?: SleepOptions): Promise<void> {
    await this.#system.sleep(untilUs, options);
    this.#reach(untilUs);
  }

  sleepSync(untilUs: number, options?: BlockingSleepOptions): void {
    this.#system.sleepSync(untilUs, options);
    // An alarm may have ended it before.
    if (this.#system.now() >= untilUs) this.#reach(untilUs);
  }

  /**
   * Ends the ticker's thread; all readers of all threads go on with the system clock. Only the object
   * that started it can do so: on one that was attached this does nothing.
   */
  dispose(): void {
    if (this.#stop === undefined) return;
    this.#stop();
    this.#stop = undefined;
    this.#cell.end();
  }

  /** {@link dispose}, for `using`. Node has the symbol from version 20.4 on. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
