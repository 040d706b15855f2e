/**
 * The reference for `KeyedTokenBucket`, slow and obvious: a Map with a bucket per key that never
 * forgets. Exact, because a token takes a whole number of microseconds, and so does each clock
 * step.
 */
export class KeyBuckets<Key> {
  readonly #tokenUs: number;
  readonly #burst: number;
  /** The instant at which each key's bucket was empty. */
  readonly #zeroUs = new Map<Key, number>();

  constructor(tokenUs: number, burst: number) {
    this.#tokenUs = tokenUs;
    this.#burst = burst;
  }

  #zero(key: Key, nowUs: number): number {
    const full = nowUs - this.#burst * this.#tokenUs;
    return Math.max(this.#zeroUs.get(key) ?? full, full);
  }

  balance(key: Key, nowUs: number): number {
    return (nowUs - this.#zero(key, nowUs)) / this.#tokenUs;
  }

  /** Microseconds to wait, or undefined if refused. */
  acquire(key: Key, nowUs: number, n: number, maxWaitUs: number): number | undefined {
    if (n === 0) return 0;
    if (n > this.#burst) return undefined;
    const next = this.#zero(key, nowUs) + n * this.#tokenUs;
    if (next - nowUs > maxWaitUs) return undefined;
    this.#zeroUs.set(key, next);
    return Math.max(0, next - nowUs);
  }

  /** Takes tokens whatever the bucket holds; microseconds until the debt is paid. */
  charge(key: Key, nowUs: number, n: number): number {
    const next = this.#zero(key, nowUs) + n * this.#tokenUs;
    if (n > 0) this.#zeroUs.set(key, next);
    return n > 0 ? Math.max(0, next - nowUs) : 0;
  }

  /** Empties the bucket until an instant, or leaves a longer debt. */
  block(key: Key, nowUs: number, us: number): void {
    this.#zeroUs.set(key, Math.max(this.#zero(key, nowUs), nowUs + us));
  }

  drain(key: Key, nowUs: number, n: number): number {
    const taken = Math.max(0, Math.min(n, Math.floor(this.balance(key, nowUs))));
    this.acquire(key, nowUs, taken, 0);
    return taken;
  }

  /** When the key's bucket was empty, or will be. Undefined for a key that never took any. */
  zeroUs(key: Key): number | undefined {
    return this.#zeroUs.get(key);
  }

  /** Takes an acquisition back while the bucket is as that left it; false otherwise. */
  cancel(key: Key, n: number, zeroUs: number | undefined): boolean {
    if (zeroUs === undefined || this.#zeroUs.get(key) !== zeroUs) return false;
    this.#zeroUs.set(key, zeroUs - n * this.#tokenUs);
    return true;
  }

  /** Microseconds until the bucket holds `n` tokens. */
  untilUs(key: Key, nowUs: number, n: number): number {
    if (n > this.#burst) return Number.POSITIVE_INFINITY;
    return Math.max(0, n - this.balance(key, nowUs)) * this.#tokenUs;
  }

  /** How many keys have a bucket that is not full. */
  notFull(nowUs: number): number {
    return [...this.#zeroUs.keys()].filter((key) => this.balance(key, nowUs) < this.#burst).length;
  }

  returnTokens(key: Key, nowUs: number, n: number): void {
    const full = nowUs - this.#burst * this.#tokenUs;
    this.#zeroUs.set(key, Math.max(this.#zero(key, nowUs) - n * this.#tokenUs, full));
  }
}
