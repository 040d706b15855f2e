import type { ReferenceLimit, WindowReference } from './window-reference.ts';

/** The reference of a `FixedWindow`. */
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
    const isOver = this.#isOver(nowUs) || nowUs >= this.#windowStart + intervalUs;
    if (!this.#options.allowDoubleBurst && isOver) this.#open(nowUs);
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
