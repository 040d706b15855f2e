import type { ReferenceLimit, WindowReference } from './window-reference.ts';

/** The reference of a `SlidingWindow`. */
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
