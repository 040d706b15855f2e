import { HandleError } from '../errors.ts';
import { TICKER_CLOCK, TICKER_CLOCK_BYTES } from '../memory/layout.ts';
import { nextTurn } from '../memory/runtime.ts';
import { loadDouble } from '../memory/shared-double.ts';
import { isShared } from '../memory/shared-memory.ts';
import { checkMade } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';

/** The range of a ticker's period. */
export const PERIOD_MS = { min: 0.1, max: 1000 } as const;

/** The period of a ticker that spins: the unit of its beats. */
export const SPIN_PERIOD_US = 0.25;

/** The shared memory in which a ticker publishes the time. */
export class TickerCell {
  readonly buffer: SharedArrayBuffer;
  readonly periodUs: number;
  readonly nonce: number;
  /** Whether the ticker publishes without pause; then it writes only `beats`. */
  readonly isSpinning: boolean;
  /**
   * One element. Each tick stores the time and then adds one here. A ticker that spins instead
   * stores the time here, in units of its period modulo 2^32.
   */
  readonly beats: Int32Array<SharedArrayBuffer>;
  /** One element: the time. */
  readonly time: BigInt64Array<SharedArrayBuffer>;

  /** Over the memory of a ticker. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.beats = new Int32Array(buffer, TICKER_CLOCK.beats, 1);
    this.time = new BigInt64Array(buffer, TICKER_CLOCK.now, 1);
    const period = new Float64Array(buffer, TICKER_CLOCK.periodUs, 1);
    this.periodUs = period[0] as number; // never out of bounds
    this.nonce = new Int32Array(buffer, TICKER_CLOCK.nonce, 1)[0] as number; // it has one element
    this.isSpinning = this.periodUs === SPIN_PERIOD_US;
  }

  /** @throws HandleError `ERR_HANDLE_INVALID` if `buffer` is not a ticker's. */
  static open(buffer: unknown): TickerCell {
    if (!isShared(buffer) || buffer.byteLength !== TICKER_CLOCK_BYTES) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle has no ticker clock's memory");
    }
    const cell = new TickerCell(buffer);
    const periodMs = cell.periodUs / 1000;
    const isInRange = periodMs >= PERIOD_MS.min && periodMs <= PERIOD_MS.max;
    if (!isInRange && !cell.isSpinning) {
      throw new HandleError(
        'ERR_HANDLE_INVALID',
        `a ticker cannot have a period of ${periodMs} ms`,
      );
    }
    return cell;
  }

  /** The latest published time. */
  now(): number {
    return loadDouble(this.time, 0);
  }

  /** The time of a beat of a spinning ticker, given a time less than 9 minutes later. */
  timeOf(beat: number, laterUs: number): number {
    const later = Math.floor(laterUs / SPIN_PERIOD_US);
    return (later - ((later - beat) | 0)) * SPIN_PERIOD_US;
  }
}

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

/**
 * Reads the clock that a ticker publishes in shared memory: all that a limiter needs of a
 * {@link TickerClock}, without the thread.
 */
export class TickerReader implements Clock {
  /** The kind of clock, as in its handle. */
  readonly name = 'ticker';
  /** @internal */
  readonly nonce: number;
  readonly #cell: TickerCell;
  readonly #system: Clock;
  readonly #mostLateUs: number;
  /** A reader that took less time since its last look skips more looks. */
  readonly #quickUs: number;
  readonly #isSpinning: boolean;
  readonly #beats: Int32Array<SharedArrayBuffer>;

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

  constructor(cell: TickerCell, system: Clock) {
    this.#cell = checkMade(new.target, cell, 'beats');
    this.nonce = cell.nonce;
    this.#system = system;
    this.#isSpinning = cell.isSpinning;
    this.#mostLateUs = cell.isSpinning ? SPIN_MOST_LATE_US : MOST_LATE_PERIODS * cell.periodUs;
    this.#quickUs = cell.isSpinning ? SPIN_MOST_LATE_US / 2 : cell.periodUs / 2;
    this.#beats = cell.beats;
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
    // An event may have ended the sleep early.
    if (this.#system.now() >= untilUs) this.#reach(untilUs);
  }
}
