/**
 * Slow and obvious references of the window limiters: arrays and sums, time in whole microseconds,
 * one caller at a time.
 */
export interface WindowReference {
  /** Takes as many as are available, up to `most`; none if fewer than `least`. */
  attempt(least: number, most: number, nowUs: number): number;
  available(nowUs: number): number;
  /** Microseconds until `n` can be taken. */
  retryUs(n: number, nowUs: number): number;
  /** Microseconds until all of the limit is available again. */
  resetUs(nowUs: number): number;
  /** An admission can be cancelled only while this is unchanged. */
  readonly state: string;
  /** Cancels the latest admission, of `n`, if it left this state; returns whether it did. */
  cancel(n: number, state: string): boolean;
}

export interface ReferenceLimit {
  readonly limit: number;
  readonly intervalUs: number;
  readonly slots: number;
}

export class FixedWindowReference implements WindowReference {
  readonly #options: ReferenceLimit;
  #windowStart = 0;
  #admitted: number[] = [];
  /** Since the window opened: then it ends on time, however few it has admitted. */
  #wasCancelled = false;

  constructor(options: ReferenceLimit) {
    this.#options = options;
  }

  get state(): string {
    return `${this.#admitted.length} from ${this.#windowStart}, ${this.#wasCancelled}`;
  }

  cancel(n: number, state: string): boolean {
    if (this.state !== state) return false;
    this.#admitted.length -= n;
    this.#wasCancelled = true;
    return true;
  }

  #isOver(nowUs: number): boolean {
    return nowUs >= this.#windowStart + this.#options.intervalUs;
  }

  attempt(least: number, most: number, nowUs: number): number {
    const { limit } = this.#options;
    const mayEnd = this.#wasCancelled || this.#admitted.length + most > limit;
    if (mayEnd && this.#isOver(nowUs)) {
      this.#windowStart = nowUs;
      this.#wasCancelled = false;
      this.#admitted = [];
    }
    const free = limit - this.#admitted.length;
    const taken = Math.min(most, free) >= least ? Math.min(most, free) : 0;
    for (let i = 0; i < taken; i++) this.#admitted.push(nowUs);
    return taken;
  }

  available(nowUs: number): number {
    const { limit } = this.#options;
    return this.#isOver(nowUs) ? limit : limit - this.#admitted.length;
  }

  retryUs(n: number, nowUs: number): number {
    if (n <= this.available(nowUs)) return 0;
    return this.#windowStart + this.#options.intervalUs - nowUs;
  }

  resetUs(nowUs: number): number {
    if (this.#isOver(nowUs) || this.#admitted.length === 0) return 0;
    return this.#windowStart + this.#options.intervalUs - nowUs;
  }
}

export class SlidingWindowReference implements WindowReference {
  readonly #options: ReferenceLimit;
  readonly #slotUs: number;
  /** The slot of each admission. */
  readonly #admitted: number[] = [];
  #latestUs = 0;

  constructor(options: ReferenceLimit) {
    this.#options = options;
    this.#slotUs = options.intervalUs / options.slots;
  }

  get state(): string {
    const slot = this.#slotAt(this.#latestUs);
    return `${this.#admitted.filter((at) => at === slot).length} in slot ${slot}`;
  }

  cancel(n: number, state: string): boolean {
    if (this.state !== state) return false;
    this.#admitted.length -= n;
    return true;
  }

  /** The limiter's time never runs backwards. */
  #slotAt(nowUs: number): number {
    this.#latestUs = Math.max(this.#latestUs, nowUs);
    return Math.floor(this.#latestUs / this.#slotUs);
  }

  #freeIn(slot: number): number {
    const { limit, slots } = this.#options;
    return limit - this.#admitted.filter((at) => at > slot - slots && at <= slot).length;
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

  retryUs(n: number, nowUs: number): number {
    let slot = this.#slotAt(nowUs);
    if (n <= this.#freeIn(slot)) return 0;
    while (n > this.#freeIn(slot)) slot++;
    return slot * this.#slotUs - nowUs;
  }

  resetUs(nowUs: number): number {
    return this.retryUs(this.#options.limit, nowUs);
  }
}

export class SlidingLogReference implements WindowReference {
  readonly #options: ReferenceLimit;
  /** Ascending, because an admission is never logged at an earlier time than the previous one. */
  readonly #admitted: number[] = [];

  constructor(options: ReferenceLimit) {
    this.#options = options;
  }

  /** Always false: a log's admission overwrote older ones, which cannot be restored. */
  readonly state = '';
  cancel(): boolean {
    return false;
  }

  available(nowUs: number): number {
    const { limit, intervalUs } = this.#options;
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

  retryUs(n: number, nowUs: number): number {
    if (n <= this.available(nowUs)) return 0;
    const { limit, intervalUs } = this.#options;
    // Once this one has expired, limit - n are left.
    const last = this.#admitted.at(-(limit - n) - 1);
    return (last ?? Number.NaN) + intervalUs - nowUs;
  }

  resetUs(nowUs: number): number {
    return this.retryUs(this.#options.limit, nowUs);
  }
}
