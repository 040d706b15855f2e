import { HIGH_HALF, LOW_HALF } from '../../memory/layout.ts';

/** The time in an entry, above its mark: the low half has 31 bits of it. */
const PER_HIGH = 2 ** 31;

/** Where a log lies. */
interface LogPlace {
  readonly words: BigInt64Array<SharedArrayBuffer>;
  /** Index of the head in `words`. */
  readonly headAt: number;
  /** Index of the first entry in `words`. */
  readonly ringAt: number;
  readonly limit: number;
  readonly intervalTicks: number;
}

/** The head as a thread last saw or wrote it. */
export interface HeadHalves {
  low: number;
  high: number;
}

/**
 * The entries of a log: times in ticks, each with one bit, its mark, that turns with every lap of
 * the ring. So an entry tells by itself whether it was written in this lap, and times need not
 * differ: n admissions at one instant are n equal entries.
 *
 * The entries of one operation are written in order, whoever writes them, so the last of them speaks
 * for all.
 */
export class LogRing {
  readonly #place: LogPlace;
  readonly #split = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#split.buffer);

  constructor(place: LogPlace) {
    this.#place = place;
  }

  /** The time of the entry `offset` places after `index`, 0 to `limit - 1`. */
  timeAt(index: number, offset: number): number {
    const { words, ringAt, limit } = this.#place;
    const at = index + offset;
    this.#split[0] = Atomics.load(words, ringAt + (at < limit ? at : at - limit));
    return this.#time();
  }

  /** Of the `most` oldest entries, how many are no later than `tick`. */
  countUntil(tick: number, oldest: number, most: number): number {
    let low = 0;
    let high = most;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.timeAt(oldest, middle) <= tick) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Makes sure that the `pending` entries before `index` are written, and returns the time of the
   * last. `mark` is what the entry at `index` will get.
   */
  settle(head: HeadHalves, index: number, mark: number, pending: number, ticks: number): number {
    const { limit } = this.#place;
    const newest = this.timeAt(index, limit - 1);
    const lastMark = index === 0 ? 1 - mark : mark;
    // A new log has no entries, and nothing pending.
    if (pending === 0 || this.#mark() === lastMark) return newest;
    const start = index < pending ? index - pending + limit : index - pending;
    const startMark = index < pending ? 1 - mark : mark;
    const before = this.timeAt(start, limit - 1);
    return this.write(head, start, startMark, pending, ticks, before);
  }

  /**
   * Writes those of `count` entries from `start` on that are not written yet, and returns the time
   * of the last; `newest` is the time of the entry before them. Once the head has moved on there is
   * nothing left to write, and the result means nothing.
   */
  write(
    head: HeadHalves,
    start: number,
    mark: number,
    count: number,
    ticks: number,
    newest: number,
  ): number {
    const { words, headAt, ringAt, limit, intervalTicks } = this.#place;
    const split = this.#split;
    const halves = this.#halves;
    let last = newest;
    let at = start;
    let atMark = mark;
    for (let left = count; left > 0; left--) {
      const old = Atomics.load(words, ringAt + at);
      split[0] = old;
      let time = this.#time();
      if (this.#mark() !== atMark) {
        // All units of an operation have one time, that of the first. It is not earlier than the
        // reading that admitted them, which was an interval or more after the latest of their old
        // entries, even if the clock has stepped back since.
        time = last;
        if (left === count) {
          const latest = this.timeAt(start, count - 1);
          time = Math.max(ticks, newest, latest + intervalTicks);
        }
        // The entry may be of a later lap, if this thread was stalled before it read it.
        split[0] = Atomics.load(words, headAt);
        if (halves[LOW_HALF] !== head.low || halves[HIGH_HALF] !== head.high) return last;
        // Written already, where it fails: with a time that another thread gave to this operation.
        split[0] = Atomics.compareExchange(words, ringAt + at, old, this.#join(time, atMark));
        if (this.#mark() === atMark) time = this.#time();
      }
      last = time;
      at++;
      if (at === limit) {
        at = 0;
        atMark = 1 - atMark;
      }
    }
    return last;
  }

  #join(time: number, mark: number): bigint {
    const high = Math.floor(time / PER_HIGH);
    this.#halves[HIGH_HALF] = high;
    this.#halves[LOW_HALF] = (time - high * PER_HIGH) * 2 + mark;
    return this.#split[0] as bigint; // never out of bounds
  }

  // The parts of the entry that was split last.

  #time(): number {
    const low = this.#halves[LOW_HALF] as number; // never out of bounds
    const high = this.#halves[HIGH_HALF] as number;
    return (high >>> 0) * PER_HIGH + (low >>> 1);
  }

  #mark(): number {
    return (this.#halves[LOW_HALF] as number) & 1; // never out of bounds
  }
}
