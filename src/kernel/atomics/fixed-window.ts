import type { CellPlace } from '../../memory/cell.ts';
import { CELL, HIGH_HALF, LOW_HALF } from '../../memory/layout.ts';
import type { Receipt } from '../bucket-kernel.ts';
import { readWindow } from '../window-cell.ts';
import type { ReadClock } from '../window-kernel.ts';
import { countBitsOf } from '../window-limit.ts';
import { intervalTicksOf, MAX_TICKS, WindowTime } from '../window-time.ts';
import { AtomicsWindow, damaged } from './window.ts';

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
export class AtomicsFixedWindow extends AtomicsWindow {
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #wordAt: number;
  readonly #time: WindowTime;
  /** Bits of the low half below the start: the count and the mark. */
  readonly #lowBits: number;
  readonly #givenBack: number;
  readonly #givenBackWord: bigint;
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
    const { limit, intervalMs, originTicks } = readWindow(place);
    super(place, limit);
    this.#words = place.region.i64;
    this.#wordAt = (place.offset + CELL.word) >> 3;
    this.#time = new WindowTime(originTicks);
    const countBits = countBitsOf(limit);
    this.#countMask = 2 ** countBits - 1;
    this.#givenBack = 2 ** countBits;
    this.#givenBackWord = BigInt(this.#givenBack);
    this.#lowBits = countBits + 1;
    this.#unitTicks = Math.max(1, MAX_TICKS / 2 ** (64 - this.#lowBits));
    this.#intervalUnits = Math.ceil(intervalTicksOf(intervalMs) / this.#unitTicks);
    this.#unitsPerHigh = 2 ** (32 - this.#lowBits);
    this.#split[0] = Atomics.load(this.#words, this.#wordAt);
    if (this.#count() > limit) throw damaged("the window's count");
  }

  protected override attempt(least: number, most: number, now: ReadClock, survey: boolean): number {
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
      let nowUs = 0;
      if (most <= left && (low & this.#givenBack) === 0) {
        // The clock has no say while the count is under the limit. But what a survey says is true
        // at a reading during which the word did not change.
        if (survey) nowUs = now();
        next = this.#plus(word, most);
      } else {
        nowUs = now();
        const start = this.#startOfNext(nowUs);
        if (start !== GOES_ON) {
          next = this.#join(start, most);
        } else if (left >= least || most === 0) {
          taken = Math.min(left, most);
          next = this.#plus(word, taken);
        } else {
          this.waitUs = this.#untilEnd(nowUs);
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
          this.#survey(nowUs);
        }
        return taken;
      }
      if (taken > 0) this.lostRaces++;
      word = seen;
    }
  }

  override cancel({ word, cost }: Receipt): boolean {
    if (cost === 0n) return true;
    const before = BigInt.asIntN(64, word - cost) | this.#givenBackWord;
    return Atomics.compareExchange(this.#words, this.#wordAt, word, before) === word;
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
