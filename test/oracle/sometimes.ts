/** Go's rate.Sometimes, without its mutex. */
export class SometimesOracle {
  readonly #options: { first: number; every: number; intervalMs: number };
  #count = 0;
  #lastMs: number;

  constructor(options: { first: number; every: number; intervalMs: number }, createdMs: number) {
    this.#options = options;
    this.#lastMs = createdMs;
  }

  isDue(nowMs: number): boolean {
    const { first, every, intervalMs } = this.#options;
    const due =
      this.#count === 0 ||
      (first > 0 && this.#count < first) ||
      (every > 0 && this.#count % every === 0) ||
      (intervalMs > 0 && nowMs - this.#lastMs >= intervalMs);
    // Unlike Go: after a step back no call is due, and the next one is not due earlier.
    if (due && intervalMs > 0) this.#lastMs = Math.max(this.#lastMs, nowMs);
    this.#count++;
    return due;
  }
}
