import type { ReferenceLimit, WindowReference } from './window-reference.ts';

/** The reference of a `SlidingLog`. */
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
