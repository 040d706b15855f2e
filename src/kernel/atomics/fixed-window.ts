import type { CellPlace } from '../../memory/cell.ts';
import { CELL, HIGH_HALF, LOW_HALF } from '../../memory/layout.ts';
import type { Receipt } from '../bucket/kernel.ts';
import { readWindow } from '../window/cell.ts';
import type { ClockReader } from '../window/kernel.ts';
import { countBitsOf, fixedWindowUnits, lowBitsOf } from '../window/limit.ts';
import { WindowOperations } from '../window/operations.ts';
import { WindowTime } from '../window/time.ts';

/** What `#startOfNext` says while the window goes on. */
const GOES_ON = -1;

/**
 * Fixed windows in one word: the start of the window and its count change together, in one
 * exchange, so there is no second store that a stalled thread could do late.
 *
 * At most `limit` in a window: an exchange adds to the count only up to the limit. Windows lie back
 * to back and none is shorter than the interval: the clock that opens a window is read after the
 * word was loaded, and the exchange finds the word unchanged, so every admission of the window
 * before came before that reading, and it is an interval or more after that window's own start.
 *
 * But the word may have come back, if tokens were given back and taken again meanwhile. So giving
 * back leaves a mark in the word until the next window opens, and while it is there the clock is
 * read for every admission: one that was made in between then stands on an earlier reading than the
 * one that opens the window. Without the mark the count only grows, and the start only moves forward.
 */
export class AtomicsFixedWindow extends WindowOperations {
  readonly name = 'atomics';
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #wordAt: number;
  readonly #time: WindowTime;
  /** Bits of the low half below the start: the count and the mark. */
  readonly #lowBits: number;
  readonly #givenBack: number;
  readonly #countMask: number;
  /** Starts are in units of so many ticks: the time gets what bits the count leaves. */
  readonly #unitTicks: number;
  readonly #intervalUnits: number;
  /** The units that one of the word's high half is worth. */
  readonly #unitsPerHigh: number;

  /** Splits a word into halves, and joins halves to a word. */
  readonly #split = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#split.buffer);
  /** What was last added to a count, and the same as a word. */
  #tokens = 1;
  #tokensWord = 1n;

  constructor(place: CellPlace) {
    const window = readWindow(place);
    const { limit, originTicks } = window;
    super(place, limit);
    this.#words = place.region.i64;
    this.#wordAt = (place.offset + CELL.word) >> 3;
    this.#time = new WindowTime(originTicks);
    const countBits = countBitsOf(limit);
    this.#countMask = 2 ** countBits - 1;
    this.#givenBack = 2 ** countBits;
    this.#lowBits = lowBitsOf(limit);
    const { unitTicks, intervalUnits } = fixedWindowUnits(window);
    this.#unitTicks = unitTicks;
    this.#intervalUnits = intervalUnits;
    this.#unitsPerHigh = 2 ** (32 - this.#lowBits);
  }

  protected override attempt(
    least: number,
    most: number,
    clock: ClockReader,
    survey: boolean,
  ): number {
    const words = this.#words;
    const wordAt = this.#wordAt;
    const split = this.#split;
    const halves = this.#halves;
    let word = Atomics.load(words, wordAt);
    for (;;) {
      split[0] = word;
      const low = halves[LOW_HALF] as number; // never out of bounds: the scratch has one word
      const high = halves[HIGH_HALF] as number;
      const left = this.limit - this.#count();
      let taken = most;
      let next: bigint;
      if (most <= left && (low & this.#givenBack) === 0) {
        // The clock has no say while the count is under the limit. But what a survey says is true
        // at a reading during which the word did not change.
        if (survey) clock.read();
        next = this.#plus(word, most);
      } else {
        clock.read();
        split[0] = word; // the clock may have called this limiter
        const start = this.#startOfNext(clock.us);
        if (start !== GOES_ON) {
          next = this.#join(start, most);
        } else if (left >= least || most === 0) {
          taken = Math.min(left, most);
          next = this.#plus(word, taken);
        } else {
          this.waitUs = this.#untilEnd(clock.us);
          if (!survey) return 0;
          taken = 0;
          next = word;
        }
      }
      const seen =
        taken > 0
          ? Atomics.compareExchange(words, wordAt, word, next)
          : survey
            ? Atomics.load(words, wordAt)
            : word;
      split[0] = seen;
      if (halves[LOW_HALF] === low && halves[HIGH_HALF] === high) {
        this.written = next;
        this.taken = taken;
        if (survey) {
          split[0] = next;
          this.#survey(clock.us);
        }
        return taken;
      }
      if (taken > 0) this.lostRaces++;
      word = seen;
    }
  }

  override cancel(receipt: Receipt): boolean {
    return this.cancelMarked(receipt, BigInt(this.#givenBack));
  }

  /** A word with more in its count. asIntN of one sum compiles to a plain 64-bit addition. */
  #plus(word: bigint, tokens: number): bigint {
    if (tokens !== this.#tokens) {
      this.#tokensWord = BigInt(tokens);
      this.#tokens = tokens;
    }
    return BigInt.asIntN(64, word + this.#tokensWord);
  }

  #join(start: number, count: number): bigint {
    const high = Math.floor(start / this.#unitsPerHigh);
    this.#halves[HIGH_HALF] = high;
    this.#halves[LOW_HALF] = ((start - high * this.#unitsPerHigh) << this.#lowBits) | count;
    return this.#split[0] as bigint; // never out of bounds
  }

  // The parts of the word that was split last.

  #count(): number {
    return (this.#halves[LOW_HALF] as number) & this.#countMask; // never out of bounds
  }

  #start(): number {
    const low = this.#halves[LOW_HALF] as number; // never out of bounds
    const high = this.#halves[HIGH_HALF] as number;
    return (high >>> 0) * this.#unitsPerHigh + (low >>> this.#lowBits);
  }

  /** The start of a window that opens now, in units; `GOES_ON` if the one before is not over. */
  #startOfNext(nowUs: number): number {
    const units = this.#time.ticks(nowUs) / this.#unitTicks;
    if (Math.floor(units) - this.#start() < this.#intervalUnits) return GOES_ON;
    // Up here and down above: a window measured in whole units is never too short.
    return Math.ceil(units);
  }

  #untilEnd(nowUs: number): number {
    return this.#time.until((this.#start() + this.#intervalUnits) * this.#unitTicks, nowUs);
  }

  #survey(nowUs: number): void {
    const over = this.#startOfNext(nowUs) !== GOES_ON;
    const count = over ? 0 : this.#count();
    this.balance = this.limit - count;
    this.waitUs = this.#untilEnd(nowUs);
    this.fullUs = count === 0 ? 0 : this.waitUs;
  }
}
