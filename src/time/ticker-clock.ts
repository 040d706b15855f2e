import { HandleError } from '../errors.ts';
import { checkOptions } from '../known-options.ts';
import { readFields } from '../memory/read-fields.ts';
import { checkFlag } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';
import { nextTurn } from './next-turn.ts';
import { isPreciseByDefault } from './precise.ts';
import { systemClock } from './system-clock.ts';
import { checkPeriod, TickerCell } from './ticker-cell.ts';
import { startTicker } from './ticker-thread.ts';

/** Readers ignore a ticker that is later than this. */
const MOST_LATE_PERIODS = 10;
/**
 * The same for a ticker that spins. A reader follows it for at most half of this without a look.
 */
const SPIN_MOST_LATE_US = 100;
/**
 * A reader that sees the same tick checks the system clock at least once per this many readings.
 */
const MOST_READINGS = 128;

/** Stops the tickers of clocks that are collected as garbage. */
const dropped = new FinalizationRegistry<() => void>((stop) => stop());

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
export class TickerClock implements Clock {
  /** The kind of clock, as in its handle. */
  readonly name = 'ticker';
  readonly #cell: TickerCell;
  readonly #system: Clock;
  readonly #mostLateUs: number;
  /** A reader that took less time since its last look skips more looks. */
  readonly #quickUs: number;
  readonly #isSpinning: boolean;
  readonly #beats: Int32Array<SharedArrayBuffer>;
  #stop: (() => void) | undefined;

  /** The latest time that this thread has read. */
  #nowUs = Number.NEGATIVE_INFINITY;
  /** The last tick seen; for a spinning ticker, its time, and how far to follow without a look. */
  #beat = 0;
  #beatUs = 0;
  #mostUs = 0;
  /** Readings between two checks of the system clock, and how many of them are left. */
  #gap = 1;
  #left = 0;
  #lookedUs = Number.NEGATIVE_INFINITY;
  /** Whether a look is due in the next turn of the event loop. */
  #looksNextTurn = false;

  private constructor(cell: TickerCell, system: Clock, stop?: () => void) {
    this.#cell = cell;
    this.#system = system;
    this.#isSpinning = cell.isSpinning;
    this.#mostLateUs = cell.isSpinning ? SPIN_MOST_LATE_US : MOST_LATE_PERIODS * cell.periodUs;
    this.#quickUs = cell.isSpinning ? SPIN_MOST_LATE_US / 2 : cell.periodUs / 2;
    this.#beats = cell.beats;
    this.#stop = stop;
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
    const cell = TickerCell.create(checkPeriod(periodMs));
    const isPrecise = checkFlag('precise', precise, isPreciseByDefault());
    const stop = await startTicker(cell, isPrecise);
    const clock = new TickerClock(cell, systemClock, stop);
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
    return TickerClock.over(TickerCell.open(buffer), systemClock);
  }

  /** Creates a reader of a cell that publishes the time of `system`. @internal */
  static over(cell: TickerCell, system: Clock): TickerClock {
    return new TickerClock(cell, system);
  }

  get handle(): ClockHandle {
    return { name: 'ticker', buffer: this.#cell.buffer };
  }

  now(): number {
    // A plain read takes a fifth of the time of Atomics.load. If an optimizer caches it, the next
    // look corrects that.
    const beat = this.#beats[0] as number; // never out of bounds
    if (--this.#left > 0) {
      if (beat === this.#beat) return this.#nowUs;
      if (this.#isSpinning) return this.#follow(beat);
    }
    return this.#look();
  }

  /** The time of a later beat of a spinning ticker. */
  #follow(beat: number): number {
    const aheadUs = ((beat - this.#beat) | 0) * this.#cell.periodUs;
    if (aheadUs < 0 || this.#beatUs + aheadUs > this.#mostUs) return this.#look();
    this.#beat = beat;
    this.#beatUs += aheadUs;
    return this.#reach(this.#beatUs);
  }

  /** Reads the cell and the system clock, and decides which of them to use. */
  #look(): number {
    const beat = Atomics.load(this.#beats, 0);
    const tickUs = this.#isSpinning ? 0 : this.#cell.now();
    const systemUs = this.#system.now();
    const publishedUs = this.#isSpinning ? this.#cell.timeOf(beat, systemUs) : tickUs;
    const lateUs = systemUs - publishedUs;
    // Even with damaged memory, this clock must not run ahead.
    const isInTime = lateUs >= 0 && lateUs <= this.#mostLateUs;
    const isSeenAgain = beat === this.#beat || this.#isSpinning;
    const isQuick = systemUs - this.#lookedUs <= this.#quickUs;
    this.#beat = beat;
    this.#beatUs = publishedUs;
    this.#mostUs = publishedUs + this.#quickUs;
    this.#lookedUs = systemUs;
    this.#gap = isInTime && isSeenAgain && isQuick ? Math.min(2 * this.#gap, MOST_READINGS) : 1;
    this.#left = this.#gap;
    if (this.#gap > 1) this.#lookNextTurn();
    return this.#reach(isInTime ? publishedUs : systemUs);
  }

  /** Looks in the next turn: readings do not show how much time passes between turns. */
  #lookNextTurn(): void {
    if (this.#looksNextTurn) return;
    this.#looksNextTurn = true;
    nextTurn(() => {
      this.#looksNextTurn = false;
      this.#left = 0;
    });
  }

  /**
   * Never moves back, because an earlier reading of the system clock may be ahead of the ticker.
   */
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
    this.#left = 0;
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
    dropped.unregister(this);
    this.#stop = undefined;
    this.#cell.end();
  }

  /** {@link dispose}, for `using`. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
