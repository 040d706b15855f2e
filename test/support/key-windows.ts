/**
 * The reference for `KeyedFixedWindow`, slow and obvious: a Map with a count per key that never
 * forgets. A key's count says how many tokens it had used up by its latest admission, where each
 * window that passed used up all of its own. Time is in microseconds from the table's creation.
 */
export class KeyWindows<Key> {
  readonly #limit: number;
  readonly #intervalUs: number;
  readonly #used = new Map<Key, number>();

  constructor(limit: number, intervalUs: number) {
    this.#limit = limit;
    this.#intervalUs = intervalUs;
  }

  #window(nowUs: number): number {
    return Math.floor(nowUs / this.#intervalUs);
  }

  #usedBy(key: Key, nowUs: number): number {
    const before = this.#limit * this.#window(nowUs);
    return Math.max(this.#used.get(key) ?? before, before);
  }

  /** Tokens left in the window; negative for an instant before the latest admission's window. */
  balance(key: Key, nowUs: number): number {
    return this.#limit * (this.#window(nowUs) + 1) - this.#usedBy(key, nowUs);
  }

  /** 0, or undefined if refused. */
  acquire(key: Key, nowUs: number, n: number): number | undefined {
    if (n === 0) return 0;
    if (n > this.balance(key, nowUs)) return undefined;
    this.#used.set(key, this.#usedBy(key, nowUs) + n);
    return 0;
  }

  drain(key: Key, nowUs: number, n: number): number {
    const taken = Math.max(0, Math.min(n, this.balance(key, nowUs)));
    this.acquire(key, nowUs, taken);
    return taken;
  }

  /** Takes tokens of later windows, too; microseconds until the key is out of debt. */
  charge(key: Key, nowUs: number, n: number): number {
    if (n > 0) this.#used.set(key, this.#usedBy(key, nowUs) + n);
    return n > 0 ? this.untilUs(key, nowUs, 0) : 0;
  }

  /** Uses up all windows until then, and the one of that instant. */
  block(key: Key, nowUs: number, us: number): void {
    const until = Math.ceil((nowUs + us) / this.#intervalUs) * this.#limit;
    this.#used.set(key, Math.max(this.#usedBy(key, nowUs), until));
  }

  reset(key: Key): void {
    this.#used.delete(key);
  }

  /** Identifies the state that an admission left. */
  zeroUs(key: Key): number | undefined {
    return this.#used.get(key);
  }

  cancel(key: Key, n: number, used: number | undefined): boolean {
    if (used === undefined || this.#used.get(key) !== used) return false;
    this.#used.set(key, used - n);
    return true;
  }

  /** Microseconds until `n` tokens are left in a window. */
  untilUs(key: Key, nowUs: number, n: number): number {
    const missing = n - this.balance(key, nowUs);
    if (n > this.#limit) return Number.POSITIVE_INFINITY;
    if (missing <= 0) return 0;
    const windows = Math.ceil(missing / this.#limit);
    return (this.#window(nowUs) + windows) * this.#intervalUs - nowUs;
  }

  /** How many keys have used tokens of this window or a later one. */
  notFull(nowUs: number): number {
    return [...this.#used.keys()].filter((key) => this.balance(key, nowUs) < this.#limit).length;
  }

  returnTokens(key: Key, nowUs: number, n: number): void {
    const before = this.#limit * this.#window(nowUs);
    this.#used.set(key, Math.max(this.#usedBy(key, nowUs) - n, before));
  }
}
