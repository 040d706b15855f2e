import { RateLimitError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import { CELL, HIGH_HALF, INDEX_BITS, INDEX_MASK, LOW_HALF } from '../../memory/layout.ts';
import {
  type BucketKernel,
  type BucketReceipt,
  LATER,
  type LimiterStats,
  NEVER,
  type Receipt,
  type Verdict,
} from '../bucket/kernel.ts';
import { type LiveRecord, liveRecord, ticksAt, tokensOf, untilHeld } from '../bucket/record.ts';
import { type Schedule, ticksOf } from '../bucket/schedule.ts';
import { MAX_SPAN_TICKS, RENEW_TICKS } from '../bucket/ticks.ts';
import { Counters } from '../counters.ts';
import { giveBack, takeWhole } from './adjust.ts';
import { LiveLimit, LOW_UNIT, PER_LOW_UNIT } from './live-limit.ts';
import { reconfigure, renew } from './reconfigure.ts';

/**
 * The kernel in JavaScript: Atomics on 64-bit words.
 *
 * The hot loop computes on doubles, because BigInt arithmetic allocates. A time of 61 bits is split
 * into a high and a low part, `high * 2^29 + low`. Sums and differences of the parts are small
 * integers, hence exact, and `high * 2^29 + low` of a sum is rounded once, so its sign is exact.
 * Only the word itself is a BigInt, since that is what 64-bit Atomics take.
 */
export class AtomicsBucket implements BucketKernel {
  readonly name = 'atomics';
  readonly #place: CellPlace;
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #wordAt: number;
  readonly #i32: Int32Array<SharedArrayBuffer>;
  readonly #counters: Counters | undefined;

  /** Splits a word into halves, and joins halves to a word. */
  readonly #split = new BigInt64Array(2);
  readonly #halves = new Int32Array(this.#split.buffer);

  readonly #limit: LiveLimit;

  #lostRaces = 0;
  // What the last acquire left.
  #lastWord = 0n;
  #lastTicks = 0;

  /** `counts` is false where the owner of the bucket counts for it. */
  constructor(place: CellPlace, counts = true) {
    this.#place = place;
    this.#words = place.region.i64;
    this.#wordAt = (place.offset + CELL.word) >> 3;
    this.#i32 = place.region.i32;
    this.#counters = counts ? Counters.open(place) : undefined;
    this.#limit = new LiveLimit(place);
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.#take(nowUs, tokens, maxWaitUs);
    this.#counters?.count(wait < 0 ? 0 : tokens, wait < 0, this.#lostRaces);
    return wait;
  }

  #take(nowUs: number, tokens: number, maxWaitUs: number): number {
    const words = this.#words;
    const wordAt = this.#wordAt;
    const split = this.#split;
    const halves = this.#halves;
    const i32 = this.#i32;
    const limit = this.#limit;
    let renewed = 0;
    this.#lostRaces = 0;
    // Once, and once more for each record that goes live meanwhile.
    for (;;) {
      if (tokens !== limit.tokens) limit.price(tokens);
      const { originUs, ticksPerMicro, fillTicks } = limit;
      const ticks = Math.round((nowUs - originUs) * ticksPerMicro);
      // Once for each record: the one seen first may be stale, and the live one as old. NaN comes here
      // as well, and is thrown out there.
      if (!(ticks <= RENEW_TICKS) && renewed !== limit.generation) {
        renewed = limit.generation;
        this.#renew(nowUs);
        continue;
      }
      const nowTicks = fillTicks === 0 ? ticks : Math.floor(ticks / fillTicks) * fillTicks;
      const nowHigh = Math.floor(nowTicks * PER_LOW_UNIT);
      const nowLow = nowTicks - nowHigh * LOW_UNIT;
      const maxWait =
        maxWaitUs === 0 ? 0 : Math.min(Math.round(maxWaitUs * ticksPerMicro), MAX_SPAN_TICKS);
      const { index, generation, generationAt, costHigh, costLow, capHigh, capLow } = limit;
      const never = (costHigh - capHigh) * LOW_UNIT + (costLow - capLow) > 0;
      // The word that a full bucket gets. It is joined before the word is loaded, because the
      // shorter the time from load to exchange, the fewer races are lost.
      const fullLow = nowLow - capLow + costLow;
      const carry = Math.floor(fullLow * PER_LOW_UNIT);
      // The shift leaves 29 bits of it.
      halves[2 + LOW_HALF] = (fullLow << INDEX_BITS) | index;
      halves[2 + HIGH_HALF] = nowHigh - capHigh + costHigh + carry;

      let word = Atomics.load(words, wordAt);
      for (;;) {
        split[0] = word;
        const low = halves[LOW_HALF] as number; // never out of bounds: the scratch has two words
        const high = halves[HIGH_HALF] as number;
        // Looked at after the word: who published the word had written its record before. So this
        // is that record's generation, or a later one's, and then the word has changed since.
        if ((low & INDEX_MASK) !== index || i32[generationAt] !== generation) {
          limit.refresh();
          break;
        }
        // The zero-time, seen from now.
        let aheadHigh = high - nowHigh;
        let aheadLow = (low >>> INDEX_BITS) - nowLow;
        const full = (aheadHigh + capHigh) * LOW_UNIT + (aheadLow + capLow) < 0;
        if (full) {
          aheadHigh = -capHigh;
          aheadLow = -capLow;
        }
        const due = (aheadHigh + costHigh) * LOW_UNIT + (aheadLow + costLow);
        const free = costHigh === 0 && costLow === 0;
        let wait = due;
        if (fillTicks !== 0 && due > 0) {
          wait = Math.ceil(due / fillTicks) * fillTicks - (ticks - nowTicks);
        }
        if (free || never || wait > maxWait) {
          // Nothing is to be written. Right when the word was loaded, and by this record if the
          // word is still the same.
          const again = Atomics.load(words, wordAt);
          split[0] = again;
          if (halves[LOW_HALF] === low && halves[HIGH_HALF] === high) {
            this.#lastWord = word;
            this.#lastTicks = 0 - (aheadHigh * LOW_UNIT + aheadLow);
            return free ? 0 : never ? NEVER : LATER;
          }
          word = again;
          continue;
        }
        // asIntN of one sum compiles to a plain 64-bit addition: half the price of joining halves.
        const next = full ? (split[1] as bigint) : BigInt.asIntN(64, word + limit.costWord);
        const seen = Atomics.compareExchange(words, wordAt, word, next);
        split[0] = seen;
        if (halves[LOW_HALF] === low && halves[HIGH_HALF] === high) {
          this.#lastWord = next;
          this.#lastTicks = 0 - due;
          return wait > 0 ? wait / ticksPerMicro : 0;
        }
        this.#lostRaces++;
        word = seen;
      }
    }
  }

  decide(nowUs: number, tokens: number): Verdict {
    const wait = this.acquire(nowUs, tokens, 0);
    const limit = this.#limit;
    const held = this.#held(nowUs);
    const wanted = Number(limit.costWord >> BigInt(INDEX_BITS));
    return {
      allowed: wait === 0,
      burst: limit.schedule.burst,
      balance: tokensOf(limit.schedule, held),
      retryUs: wait === 0 ? 0 : untilHeld(limit, nowUs, held, wanted),
      fullUs: untilHeld(limit, nowUs, held, Number(limit.schedule.capTicks)),
    };
  }

  /** {@link lastTicks}, which an instant that is no number of ticks leaves NaN. */
  #held(nowUs: number): number {
    if (Number.isNaN(this.#lastTicks)) ticksAt(this.#limit.schedule, this.#limit.originUs, nowUs);
    return this.#lastTicks;
  }

  /** What the bucket held after the last call that admitted or refused, in ticks. */
  get lastTicks(): number {
    return this.#lastTicks;
  }

  /** The races that the last call lost. */
  get lostRaces(): number {
    return this.#lostRaces;
  }

  /** Moves the origin up to now. Harmless where it can't be done yet: it will be tried again. */
  #renew(nowUs: number): void {
    const { generation } = this.#limit;
    this.#limit.refresh();
    // Perhaps only the record that this thread saw last is so old.
    if (this.#limit.generation !== generation) return;
    const { schedule, originUs } = this.#limit;
    try {
      renew(this.#place, nowUs, this.#limit);
    } catch (error) {
      const tooLong = ticksAt(schedule, originUs, nowUs) > MAX_SPAN_TICKS;
      if (tooLong || !(error instanceof RateLimitError)) throw error;
    }
    this.#limit.refresh();
  }

  drain(nowUs: number, tokens: number): number {
    const most = Math.floor(tokens);
    let lost = 0;
    let taken: number | undefined;
    while (taken === undefined) {
      // Either all of them are there, or the refusal tells the word and its record.
      if (this.#take(nowUs, most, 0) === 0) taken = most;
      else taken = takeWhole(this.#place, this.#seen(), nowUs, most);
      lost += this.#lostRaces + (taken === undefined ? 1 : 0);
    }
    this.#counters?.count(taken, taken === 0 && most > 0, lost);
    return taken;
  }

  /** The word and record that the last operation stood on. */
  #seen(): LiveRecord {
    const { index, generation, schedule, originUs } = this.#limit;
    return { word: this.#lastWord, index, generation, schedule, originUs };
  }

  refund(nowUs: number, tokens: number): void {
    do this.#look(nowUs);
    while (!giveBack(this.#place, this.#seen(), nowUs, tokens));
  }

  /** Takes nothing, but sees the word and its record at one instant. */
  #look(nowUs: number): void {
    this.#take(nowUs, 0, 0);
  }

  receipt(): BucketReceipt {
    const { costWord, generation } = this.#limit;
    return { word: this.#lastWord, cost: costWord, generation };
  }

  cancel({ word, cost }: Receipt): boolean {
    const before = BigInt.asIntN(64, word - cost);
    return Atomics.compareExchange(this.#words, this.#wordAt, word, before) === word;
  }

  balance(nowUs: number): number {
    this.#look(nowUs);
    return tokensOf(this.#limit.schedule, this.#held(nowUs));
  }

  timeUntil(nowUs: number, tokens: number): number {
    this.#look(nowUs);
    const wanted = ticksOf(tokens, this.#limit.schedule.ticksPerToken, Math.ceil);
    return untilHeld(this.#limit, nowUs, this.#held(nowUs), Number(wanted));
  }

  schedule(): Schedule {
    return liveRecord(this.#place).schedule;
  }

  reconfigure(nowUs: number, next: Schedule): void {
    reconfigure(this.#place, nowUs, next);
  }

  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }
}
