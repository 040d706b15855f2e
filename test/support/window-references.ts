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
  /** The window or slot, under its limit, in which the latest tokens count. */
  readonly place: string;
  /** Puts back `n` tokens that were taken at a place; returns how many. The others lapse. */
  giveBack(n: number, place: string, nowUs: number): number;
  /** Changes the limit. */
  reconfigure(limit: number, intervalUs: number, nowUs: number): void;
}

export interface ReferenceLimit {
  readonly limit: number;
  readonly intervalUs: number;
  readonly slots: number;
  readonly allowDoubleBurst?: boolean;
}

export class FixedWindowReference implements WindowReference {
  #options: ReferenceLimit;
  #windowStart = 0;
  #admitted: number[] = [];
  /** Since the window opened: then it ends on time, however few it has admitted. */
  #wasCancelled = false;
  #changes = 0;

  constructor(options: ReferenceLimit) {
    this.#options = options;
  }

  get state(): string {
    const mark = this.#options.allowDoubleBurst ? this.#wasCancelled : '';
    return `${this.#admitted.length} from ${this.place}, ${mark}`;
  }

  cancel(n: number, state: string): boolean {
    if (this.state !== state) return false;
    this.#admitted.length -= n;
    this.#wasCancelled = true;
    return true;
  }

  get place(): string {
    return `${this.#windowStart} after ${this.#changes}`;
  }

  giveBack(n: number, place: string, nowUs: number): number {
    if (this.#options.allowDoubleBurst || place !== this.place || this.#isOver(nowUs)) return 0;
    const returned = Math.min(n, this.#admitted.length);
    this.#admitted.length -= returned;
    return returned;
  }

  reconfigure(limit: number, intervalUs: number, nowUs: number): void {
    if (!this.#options.allowDoubleBurst && this.#isOver(nowUs)) this.#open(nowUs);
    this.#options = { ...this.#options, limit, intervalUs };
    this.#changes++;
  }

  #isOver(nowUs: number): boolean {
    return nowUs >= this.#windowStart + this.#options.intervalUs;
  }

  #open(nowUs: number): void {
    this.#windowStart = nowUs;
    this.#wasCancelled = false;
    this.#admitted = [];
  }

  attempt(least: number, most: number, nowUs: number): number {
    const { limit, allowDoubleBurst } = this.#options;
    const isFull = this.#wasCancelled || this.#admitted.length + most > limit;
    const opens = this.#isOver(nowUs) && (!allowDoubleBurst || isFull);
    const free = limit - (opens ? 0 : this.#admitted.length);
    const taken = Math.min(most, Math.max(0, free));
    if (taken < least || taken === 0) return 0;
    if (opens) this.#open(nowUs);
    for (let i = 0; i < taken; i++) this.#admitted.push(nowUs);
    return taken;
  }

  available(nowUs: number): number {
    const { limit } = this.#options;
    return this.#isOver(nowUs) ? limit : Math.max(0, limit - this.#admitted.length);
  }

  retryUs(n: number, nowUs: number): number {
    if (n > this.#options.limit) return Number.POSITIVE_INFINITY;
    if (n <= this.available(nowUs)) return 0;
    return this.#windowStart + this.#options.intervalUs - nowUs;
  }

  resetUs(nowUs: number): number {
    if (this.#isOver(nowUs) || this.#admitted.length === 0) return 0;
    return this.#windowStart + this.#options.intervalUs - nowUs;
  }
}

export class SlidingWindowReference implements WindowReference {
  #options: ReferenceLimit;
  /** The slot of each admission. */
  #admitted: number[] = [];
  /** The start of slot 0. */
  #originUs = 0;
  #latestUs = 0;
  #changes = 0;

  constructor(options: ReferenceLimit) {
    this.#options = options;
  }

  get #slotUs(): number {
    return this.#options.intervalUs / this.#options.slots;
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
    return `${this.#slot} after ${this.#changes}`;
  }

  giveBack(n: number, place: string, nowUs: number): number {
    if (place !== this.place || this.#slotOf(nowUs) > this.#slot) return 0;
    const returned = Math.min(n, this.#admitted.filter((at) => at === this.#slot).length);
    this.#admitted.length -= returned;
    return returned;
  }

  reconfigure(limit: number, intervalUs: number, nowUs: number): void {
    const slot = this.#slotAt(nowUs);
    if (intervalUs !== this.#options.intervalUs) {
      const counted = this.#countIn(slot);
      this.#originUs = Math.max(nowUs, this.#startOf(slot));
      this.#latestUs = this.#originUs;
      this.#admitted = Array.from({ length: counted }, () => 0);
    }
    this.#options = { ...this.#options, limit, intervalUs };
    this.#changes++;
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
    const { slots } = this.#options;
    return this.#admitted.filter((at) => at > slot - slots && at <= slot).length;
  }

  #freeIn(slot: number): number {
    return Math.max(0, this.#options.limit - this.#countIn(slot));
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
    if (n > this.#options.limit) return Number.POSITIVE_INFINITY;
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

export class SlidingLogReference implements WindowReference {
  #options: ReferenceLimit;
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

  readonly place = '';
  giveBack(): number {
    throw new Error('a log takes nothing back');
  }

  reconfigure(limit: number, intervalUs: number): void {
    this.#options = { ...this.#options, limit, intervalUs };
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
    if (n > this.#options.limit) return Number.POSITIVE_INFINITY;
    if (n <= this.available(nowUs)) return 0;
    const { limit, intervalUs } = this.#options;
    // Once this one has expired, limit - n are left.
    const last = this.#admitted.at(-(limit - n) - 1);
    return (last ?? Number.NaN) + intervalUs - nowUs;
  }

  resetUs(nowUs: number): number {
    const last = this.#admitted.at(-1) ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, last + this.#options.intervalUs - nowUs);
  }
}
