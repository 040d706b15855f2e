import type { WindowKind } from '../../src/kernel/window/limit.ts';

export interface WindowLimit {
  readonly limit: number;
  readonly intervalUs: number;
  readonly slots: number;
  readonly allowDoubleBurst?: boolean;
}

/**
 * A window or a log, as one would write it for one caller at a time: arrays and sums, time in whole
 * microseconds. A window opens with a call, so it is no bucket that fills at fixed instants.
 */
export abstract class WindowOracle {
  protected options: WindowLimit;
  protected changes = 0;

  constructor(options: WindowLimit) {
    this.options = options;
  }

  /** Takes as many as are available, up to `most`; none if fewer than `least`. */
  abstract attempt(least: number, most: number, nowUs: number): number;
  abstract available(nowUs: number): number;
  /** Microseconds until all of the limit is available again. */
  abstract resetUs(nowUs: number): number;
  /** Microseconds until `n` can be taken, which is more than there are. */
  protected abstract laterUs(n: number, nowUs: number): number;

  /** An admission can be cancelled only while this is unchanged. */
  abstract readonly state: string;
  /** Cancels the latest admission, of `n`, if it left this state; returns whether it did. */
  abstract cancel(n: number, state: string): boolean;
  /** The window or slot, under its limit, in which the latest tokens count. */
  abstract readonly place: string;
  /** Puts back `n` tokens that were taken at a place; returns how many. The others lapse. */
  abstract giveBack(n: number, place: string, nowUs: number): number;

  /** Microseconds until `n` can be taken. */
  retryUs(n: number, nowUs: number): number {
    if (n > this.options.limit) return Number.POSITIVE_INFINITY;
    return n <= this.available(nowUs) ? 0 : this.laterUs(n, nowUs);
  }

  /** Changes the limit. */
  reconfigure(limit: number, intervalUs: number, nowUs: number): void {
    this.beforeChange(intervalUs, nowUs);
    this.options = { ...this.options, limit, intervalUs };
    this.changes++;
  }

  protected beforeChange(_intervalUs: number, _nowUs: number): void {}
}

class FixedWindowOracle extends WindowOracle {
  #startUs = 0;
  #count = 0;
  /** Since the window opened: then it ends on time, however few it has admitted. */
  #wasCancelled = false;

  get state(): string {
    const mark = this.options.allowDoubleBurst ? this.#wasCancelled : '';
    return `${this.#count} from ${this.place}, ${mark}`;
  }

  cancel(n: number, state: string): boolean {
    if (this.state !== state) return false;
    this.#count -= n;
    this.#wasCancelled = true;
    return true;
  }

  get place(): string {
    return `${this.#startUs} after ${this.changes}`;
  }

  giveBack(n: number, place: string, nowUs: number): number {
    if (this.options.allowDoubleBurst || place !== this.place || this.#isOver(nowUs)) return 0;
    const returned = Math.min(n, this.#count);
    this.#count -= returned;
    return returned;
  }

  protected override beforeChange(intervalUs: number, nowUs: number): void {
    const isOver = this.#isOver(nowUs) || nowUs >= this.#startUs + intervalUs;
    if (!this.options.allowDoubleBurst && isOver) this.#open(nowUs);
  }

  #isOver(nowUs: number): boolean {
    return nowUs >= this.#startUs + this.options.intervalUs;
  }

  #open(nowUs: number): void {
    this.#startUs = nowUs;
    this.#wasCancelled = false;
    this.#count = 0;
  }

  attempt(least: number, most: number, nowUs: number): number {
    const { limit, allowDoubleBurst } = this.options;
    const isFull = this.#wasCancelled || this.#count + most > limit;
    const opens = this.#isOver(nowUs) && (!allowDoubleBurst || isFull);
    const free = limit - (opens ? 0 : this.#count);
    const taken = Math.min(most, Math.max(0, free));
    if (taken < least || taken === 0) return 0;
    if (opens) this.#open(nowUs);
    this.#count += taken;
    return taken;
  }

  available(nowUs: number): number {
    const { limit } = this.options;
    return this.#isOver(nowUs) ? limit : Math.max(0, limit - this.#count);
  }

  protected laterUs(_n: number, nowUs: number): number {
    return this.#startUs + this.options.intervalUs - nowUs;
  }

  resetUs(nowUs: number): number {
    return this.#isOver(nowUs) || this.#count === 0 ? 0 : this.laterUs(0, nowUs);
  }
}

class SlidingWindowOracle extends WindowOracle {
  /** The slot of each admission. */
  #admitted: number[] = [];
  /** The start of slot 0. */
  #originUs = 0;
  #latestUs = 0;

  get #slotUs(): number {
    return this.options.intervalUs / this.options.slots;
  }

  get #slot(): number {
    return this.#slotOf(this.#latestUs);
  }

  get state(): string {
    return `${this.#admitted.filter((at) => at === this.#slot).length} in slot ${this.place}`;
  }

  cancel(n: number, state: string): boolean {
    if (this.state !== state) return false;
    this.#admitted.length -= n;
    return true;
  }

  get place(): string {
    return `${this.#slot} after ${this.changes}`;
  }

  giveBack(n: number, place: string, nowUs: number): number {
    if (place !== this.place || this.#slotOf(nowUs) > this.#slot) return 0;
    const returned = Math.min(n, this.#admitted.filter((at) => at === this.#slot).length);
    this.#admitted.length -= returned;
    return returned;
  }

  protected override beforeChange(intervalUs: number, nowUs: number): void {
    const slot = this.#slotAt(nowUs);
    if (intervalUs === this.options.intervalUs) return;
    const counted = this.#countIn(slot);
    this.#originUs = Math.max(nowUs, this.#startOf(slot));
    this.#latestUs = this.#originUs;
    this.#admitted = Array.from({ length: counted }, () => 0);
  }

  #slotOf(atUs: number): number {
    return Math.floor((atUs - this.#originUs) / this.#slotUs);
  }

  #startOf(slot: number): number {
    return this.#originUs + slot * this.#slotUs;
  }

  /** The limiter's time never runs backwards. */
  #slotAt(nowUs: number): number {
    this.#latestUs = Math.max(this.#latestUs, nowUs);
    return this.#slot;
  }

  #countIn(slot: number): number {
    const { slots } = this.options;
    return this.#admitted.filter((at) => at > slot - slots && at <= slot).length;
  }

  #freeIn(slot: number): number {
    return Math.max(0, this.options.limit - this.#countIn(slot));
  }

  attempt(least: number, most: number, nowUs: number): number {
    const slot = this.#slotAt(nowUs);
    const taken = Math.min(most, this.#freeIn(slot));
    if (taken < least) return 0;
    for (let i = 0; i < taken; i++) this.#admitted.push(slot);
    return taken;
  }

  available(nowUs: number): number {
    return this.#freeIn(this.#slotAt(nowUs));
  }

  protected laterUs(n: number, nowUs: number): number {
    return this.#untilUs((slot) => n <= this.#freeIn(slot), nowUs);
  }

  resetUs(nowUs: number): number {
    return this.#untilUs((slot) => this.#countIn(slot) === 0, nowUs);
  }

  #untilUs(isReached: (slot: number) => boolean, nowUs: number): number {
    let slot = this.#slotAt(nowUs);
    if (isReached(slot)) return 0;
    while (!isReached(slot)) slot++;
    return this.#startOf(slot) - nowUs;
  }
}

class SlidingLogOracle extends WindowOracle {
  /** Ascending, because an admission is never logged at an earlier time than the previous one. */
  readonly #admitted: number[] = [];

  /** A log's admission overwrote older ones, which cannot be restored. */
  readonly state = '';
  cancel(): boolean {
    return false;
  }

  readonly place = '';
  giveBack(): number {
    throw new Error('a log takes nothing back');
  }

  available(nowUs: number): number {
    const { limit, intervalUs } = this.options;
    return Math.max(0, limit - this.#admitted.filter((at) => at > nowUs - intervalUs).length);
  }

  attempt(least: number, most: number, nowUs: number): number {
    const taken = Math.min(most, this.available(nowUs));
    if (taken < least) return 0;
    for (let i = 0; i < taken; i++) {
      this.#admitted.push(Math.max(nowUs, this.#admitted.at(-1) ?? nowUs));
    }
    return taken;
  }

  protected laterUs(n: number, nowUs: number): number {
    const { limit, intervalUs } = this.options;
    // Once this one has expired, limit - n are left.
    const last = this.#admitted.at(-(limit - n) - 1);
    return (last ?? Number.NaN) + intervalUs - nowUs;
  }

  resetUs(nowUs: number): number {
    const last = this.#admitted.at(-1) ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, last + this.options.intervalUs - nowUs);
  }
}

const ORACLES = {
  'fixed-window': FixedWindowOracle,
  'sliding-window': SlidingWindowOracle,
  'sliding-log': SlidingLogOracle,
} as const;

export function windowOracle(kind: WindowKind, limit: WindowLimit): WindowOracle {
  return new ORACLES[kind](limit);
}

/** A thread's calls: it can put back what it took at the place where it took last. */
export class WindowThread {
  readonly #window: WindowOracle;
  #mine = { place: '', n: 0 };
  #latest: { readonly n: number; readonly state: string } | undefined;

  constructor(window: WindowOracle) {
    this.#window = window;
  }

  attempt(least: number, most: number, nowUs: number): number {
    const taken = this.#window.attempt(least, most, nowUs);
    const { place } = this.#window;
    const before = this.#mine.place === place ? this.#mine.n : 0;
    if (taken > 0) this.#mine = { place, n: before + taken };
    return taken;
  }

  take(n: number, nowUs: number): boolean {
    const isTaken = this.attempt(n, n, nowUs) === n;
    if (isTaken) this.#latest = { n, state: this.#window.state };
    return isTaken;
  }

  /** Cancels its latest take; undefined if there was none. */
  cancel(): boolean | undefined {
    if (this.#latest === undefined) return undefined;
    const { n, state } = this.#latest;
    const isUndone = this.#window.cancel(n, state);
    if (isUndone) this.#mine.n -= n;
    return isUndone;
  }

  giveBack(n: number, nowUs: number): number {
    const returned = this.#window.giveBack(Math.min(n, this.#mine.n), this.#mine.place, nowUs);
    this.#mine.n -= returned;
    return returned;
  }
}
