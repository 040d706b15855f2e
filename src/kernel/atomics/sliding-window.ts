import type { CellPlace } from '../../memory/cell.ts';
import { CELL, HIGH_HALF, LOW_HALF, WINDOW } from '../../memory/layout.ts';
import { readWindow } from '../window/cell.ts';
import type { ClockReader } from '../window/kernel.ts';
import { countBitsOf, lowBitsOf, slotTicksOf } from '../window/limit.ts';
import { WindowOperations } from '../window/operations.ts';
import { FIRST_SLOT } from '../window/ticks.ts';
import { WindowTime } from '../window/time.ts';

/**
 * A window of slots. The word (the head) holds the current slot's number and count; a ring holds
 * the slots before. The next slot opens in three steps, which any thread can go on with:
 *
 *     seal     head: (slot, count) -> (slot, sealed, count)       no more admissions in this slot
 *     keep     ring[slot % slots]: an older entry -> the sealed word
 *     open     head: (slot, sealed, count) -> (new slot, 0)
 *
 * A thread that finds the head sealed does the steps that are missing; who comes late finds its
 * exchange fail, because numbers in the head and in each place of the ring only grow.
 *
 * At most `limit` in any `slots` consecutive slots: while the head stands at a slot, the entries of
 * the `slots - 1` slots before it have all been kept and no longer change (the next write at the
 * place of one of them keeps a slot that is later than the head's). An admission's exchange finds the
 * head unchanged, so the sum that was added up meanwhile is the sum at its instant.
 *
 * Each admission counts in the slot of a reading of the clock within its call: the clock is read
 * after a head of that slot was seen, and the slot is not over. Where the clock has stepped back,
 * the head's slot goes on: time here is the latest that any thread saw.
 */
export class AtomicsSlidingWindow extends WindowOperations {
  readonly name = 'atomics';
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #wordAt: number;
  readonly #ringAt: number;
  readonly #slots: number;
  readonly #slotTicks: number;
  readonly #time: WindowTime;
  readonly #countMask: number;
  readonly #sealBit: number;
  readonly #sealWord: bigint;
  /** Bits of the low half below the slot number. */
  readonly #lowBits: number;
  /** The slots that one of the word's high half is worth. */
  readonly #slotsPerHigh: number;

  /** Splits a word into halves, and joins halves to a word. */
  readonly #split = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#split.buffer);
  #tokens = 1;
  #tokensWord = 1n;

  // The kept slots, as this thread added them up when it first saw the head's slot.
  #keptFor = 0;
  #kept = 0;
  /** The count of the slot so many before the head's; index 0 is not used. */
  readonly #keptAt: Float64Array;

  constructor(place: CellPlace) {
    const window = readWindow(place);
    super(place, window.limit);
    this.#words = place.region.i64;
    this.#wordAt = (place.offset + CELL.word) >> 3;
    this.#ringAt = (place.offset + WINDOW.ring) >> 3;
    this.#slots = window.slots;
    this.#slotTicks = slotTicksOf(window);
    this.#time = new WindowTime(window.originTicks);
    const bits = countBitsOf(window.limit);
    this.#countMask = 2 ** bits - 1;
    this.#sealBit = 2 ** bits;
    this.#sealWord = BigInt(this.#sealBit);
    this.#lowBits = lowBitsOf(window.limit);
    this.#slotsPerHigh = 2 ** (32 - this.#lowBits);
    this.#keptAt = new Float64Array(this.#slots);
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
    let clockSlot = 0;
    let nowUs = 0;
    let nowSlot = 0;
    let word = Atomics.load(words, wordAt);
    for (;;) {
      split[0] = word;
      const low = halves[LOW_HALF] as number; // never out of bounds: the scratch has one word
      const high = halves[HIGH_HALF] as number;
      const slot = this.#slot();
      const count = this.#count();
      if (slot !== clockSlot) {
        // Once for each slot that is seen, and after it was seen.
        clockSlot = slot;
        clock.read();
        nowUs = clock.us;
        nowSlot = Math.floor(this.#time.ticks(nowUs) / this.#slotTicks) + FIRST_SLOT;
      }
      const isSealed = (low & this.#sealBit) !== 0;
      if (nowSlot > slot || isSealed) {
        this.#openNext(word, slot, nowSlot, isSealed);
        word = Atomics.load(words, wordAt);
        continue;
      }
      if (slot !== this.#keptFor) this.#addUp(slot);
      const left = this.limit - this.#kept - count;
      const taken = left >= most ? most : left >= least ? left : 0;
      // Where nothing is to be written, the head must still be the one that the sum belongs to.
      const next = taken === 0 ? word : this.#plus(word, taken);
      const seen =
        taken === 0
          ? Atomics.load(words, wordAt)
          : Atomics.compareExchange(words, wordAt, word, next);
      split[0] = seen;
      if (halves[LOW_HALF] === low && halves[HIGH_HALF] === high) {
        if (taken < least) this.waitUs = this.#untilRoom(least, slot, count, nowUs);
        if (survey) this.#survey(slot, count + taken, nowUs);
        this.written = next;
        this.taken = taken;
        return taken;
      }
      if (taken > 0) this.lostRaces++;
      word = seen;
    }
  }

  /** Does what is missing of the three steps. None of them is done twice. */
  #openNext(word: bigint, slot: number, nowSlot: number, isSealed: boolean): void {
    const words = this.#words;
    let sealed = word;
    if (!isSealed) {
      sealed = BigInt.asIntN(64, word + this.#sealWord);
      if (Atomics.compareExchange(words, this.#wordAt, word, sealed) !== word) {
        this.lostRaces++;
        return;
      }
    }
    const at = this.#ringAt + (slot % this.#slots);
    const kept = Atomics.load(words, at);
    this.#split[0] = kept;
    if (this.#slot() < slot) Atomics.compareExchange(words, at, kept, sealed);
    // Who sealed the slot saw a later one, even if the clock has stepped back since.
    const next = Math.max(nowSlot, slot + 1);
    const high = Math.floor(next / this.#slotsPerHigh);
    this.#halves[HIGH_HALF] = high;
    this.#halves[LOW_HALF] = (next - high * this.#slotsPerHigh) << this.#lowBits;
    Atomics.compareExchange(words, this.#wordAt, sealed, this.#split[0] as bigint);
  }

  /** Adds up the slots that count beside the head's. */
  #addUp(slot: number): void {
    const slots = this.#slots;
    let index = slot % slots;
    let sum = 0;
    for (let age = 1; age < slots; age++) {
      index = index === 0 ? slots - 1 : index - 1;
      this.#split[0] = Atomics.load(this.#words, this.#ringAt + index);
      // A slot in which nobody came was never kept: an older one still has its place.
      const count = this.#slot() === slot - age ? this.#count() : 0;
      this.#keptAt[age] = count;
      sum += count;
    }
    this.#kept = sum;
    this.#keptFor = slot;
  }

  /** A word with more in its count. asIntN of one sum compiles to a plain 64-bit addition. */
  #plus(word: bigint, tokens: number): bigint {
    if (tokens !== this.#tokens) {
      this.#tokensWord = BigInt(tokens);
      this.#tokens = tokens;
    }
    return BigInt.asIntN(64, word + this.#tokensWord);
  }

  // The parts of the word that was split last.

  #count(): number {
    return (this.#halves[LOW_HALF] as number) & this.#countMask; // never out of bounds
  }

  #slot(): number {
    const low = this.#halves[LOW_HALF] as number; // never out of bounds
    const high = this.#halves[HIGH_HALF] as number;
    return (high >>> 0) * this.#slotsPerHigh + (low >>> this.#lowBits);
  }

  #untilSlot(slot: number, nowUs: number): number {
    return this.#time.until((slot - FIRST_SLOT) * this.#slotTicks, nowUs);
  }

  /** Until enough of the oldest slots have dropped out. */
  #untilRoom(tokens: number, slot: number, count: number, nowUs: number): number {
    let held = this.#kept + count;
    let age = this.#slots - 1;
    for (; age > 0; age--) {
      held -= this.#keptAt[age] as number; // never out of bounds
      if (held + tokens <= this.limit) break;
    }
    return this.#untilSlot(slot - age + this.#slots, nowUs);
  }

  #survey(slot: number, count: number, nowUs: number): void {
    this.balance = Math.max(0, this.limit - this.#kept - count);
    let age = 0;
    if (count === 0) {
      age = 1;
      while (age < this.#slots && this.#keptAt[age] === 0) age++;
    }
    this.fullUs = age === this.#slots ? 0 : this.#untilSlot(slot - age + this.#slots, nowUs);
  }
}
