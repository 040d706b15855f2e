import type { CellPlace } from '../../memory/cell.ts';
import { CELL, HIGH_HALF, LOW_HALF, WINDOW } from '../../memory/layout.ts';
import { damagedWord, readWindow } from '../window/cell.ts';
import type { ClockReader } from '../window/kernel.ts';
import { countBitsOf } from '../window/limit.ts';
import { WindowOperations } from '../window/operations.ts';
import { intervalTicksOf, WindowTime } from '../window/time.ts';
import { type HeadHalves, LogRing } from './log-ring.ts';

/**
 * The times of the last `limit` admissions in a ring, and a word (the head) that says where the
 * oldest of them is. The next n admissions take the places of the n oldest:
 *
 *     take     head: (position, -) -> (position + n, pending n)
 *     write    ring[position .. position + n - 1]: each from its old entry to the new time
 *
 * The exchange on the head admits all n or none. Who finds entries pending that are not written
 * yet, because their thread was stalled or terminated, writes them first, with a time of its own:
 * the stalled call has not returned, so it is a time within that call. A place is written once: its
 * exchange expects the old entry, and an entry never comes back, for its time grows by an interval
 * or more with each lap.
 *
 * At most `limit` in any half-open interval: the admission at a position is made only if the one
 * `limit` positions before is an interval or more older, by a clock that is read after the head and
 * before its exchange; the exchange finds the head unchanged, so the entry was still the same. Every
 * entry is no earlier than the reading that its admission stands on, and entries never decrease from
 * one position to the next. So of any `limit + 1` admissions the last stands on a reading of the
 * clock an interval or more after the first's.
 *
 * The head repeats after 2^(64 - 2C) laps, at the least 2^14, and a lap takes an interval at least.
 */
export class AtomicsSlidingLog extends WindowOperations {
  readonly name = 'atomics';
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #wordAt: number;
  readonly #time: WindowTime;
  readonly #intervalTicks: number;
  readonly #ring: LogRing;
  readonly #indexBits: number;
  readonly #indexMask: number;

  /** Splits a word into halves, and joins halves to a word. */
  readonly #split = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#split.buffer);
  /** The head that was loaded last, and the one to be written. */
  readonly #seen: HeadHalves = { low: 0, high: 0 };
  readonly #next: HeadHalves = { low: 0, high: 0 };

  constructor(place: CellPlace) {
    const { limit, intervalMs, originTicks } = readWindow(place);
    super(place, limit);
    this.#words = place.region.i64;
    this.#wordAt = (place.offset + CELL.word) >> 3;
    this.#time = new WindowTime(originTicks);
    this.#intervalTicks = intervalTicksOf(intervalMs);
    this.#ring = new LogRing({
      words: this.#words,
      headAt: this.#wordAt,
      ringAt: (place.offset + WINDOW.ring) >> 3,
      limit,
      intervalTicks: this.#intervalTicks,
    });
    this.#indexBits = countBitsOf(limit);
    this.#indexMask = 2 ** this.#indexBits - 1;
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
    const ring = this.#ring;
    let head = Atomics.load(words, wordAt);
    for (;;) {
      split[0] = head;
      const low = halves[LOW_HALF] as number; // never out of bounds: the scratch has one word
      const high = halves[HIGH_HALF] as number;
      this.#checkHead(low, high);
      const index = high & this.#indexMask;
      // What entries of this lap are marked with: 1 in lap 0, as a new ring is all zeros.
      const mark = 1 - ((high >>> this.#indexBits) & 1);
      clock.read();
      const nowUs = clock.us;
      // After the clock, which may have called this limiter.
      this.#seen.low = low;
      this.#seen.high = high;
      const ticks = this.#time.ticks(nowUs);
      const newest = ring.settle(this.#seen, index, mark, low & this.#indexMask, ticks);
      const due = ticks - this.#intervalTicks;
      const room = survey
        ? ring.countUntil(due, index, this.limit)
        : this.#room(due, index, least, most);
      const taken = room >= most ? most : room >= least ? room : 0;
      if (taken < least) this.waitUs = this.#untilOver(ring.timeAt(index, least - 1), nowUs);
      const next = taken === 0 ? head : this.#advance(low, high, taken);
      // Where nothing is to be written, the head must still be the one that the entries belong to.
      const seen =
        taken === 0
          ? Atomics.load(words, wordAt)
          : Atomics.compareExchange(words, wordAt, head, next);
      split[0] = seen;
      if (halves[LOW_HALF] === low && halves[HIGH_HALF] === high) {
        const last =
          taken === 0
            ? newest
            : Math.max(ticks, ring.write(this.#next, index, mark, taken, ticks, newest));
        if (survey) {
          this.balance = room - taken;
          this.fullUs = Math.max(0, this.#untilOver(last, nowUs));
        }
        return taken;
      }
      if (taken > 0) this.lostRaces++;
      head = seen;
    }
  }

  /** The times that the admission wrote over are gone, so its tokens lapse. */
  override cancel(): boolean {
    return false;
  }

  /** How many there is room for, up to `most`; where fewer than `least`, 0 will do. */
  #room(due: number, index: number, least: number, most: number): number {
    if (least < most) return this.#ring.countUntil(due, index, most);
    // One entry tells: the newest of the oldest n.
    return this.#ring.timeAt(index, most - 1) <= due ? most : 0;
  }

  /** The head after `taken` more. */
  #advance(low: number, high: number, taken: number): bigint {
    const index = high & this.#indexMask;
    let nextHigh = (high >>> 0) + taken;
    let lapHigh = low >>> this.#indexBits;
    if (index + taken >= this.limit) nextHigh += this.#indexMask + 1 - this.limit;
    if (nextHigh >= 2 ** 32) lapHigh++;
    this.#next.high = nextHigh | 0;
    this.#next.low = (lapHigh << this.#indexBits) | taken;
    this.#halves[HIGH_HALF] = this.#next.high;
    this.#halves[LOW_HALF] = this.#next.low;
    return this.#split[0] as bigint; // never out of bounds
  }

  /** Until an entry no longer counts. */
  #untilOver(time: number, nowUs: number): number {
    return this.#time.until(time + this.#intervalTicks, nowUs);
  }

  /** An index past the ring would read what is not the log's. */
  #checkHead(low: number, high: number): void {
    if ((high & this.#indexMask) >= this.limit || (low & this.#indexMask) > this.limit) {
      throw damagedWord();
    }
  }
}
