import { checkMade } from '../options.ts';
import type { BlockingSleepOptions, Clock, ClockHandle, SleepOptions } from './clock.ts';
import { nextTurn } from './next-turn.ts';
import type { TickerCell } from './ticker-cell.ts';

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
    // An alarm may have ended the sleep early.
    if (this.#system.now() >= untilUs) this.#reach(untilUs);
  }
}
