/** A limit: microseconds per token, and the largest number of tokens. */
export interface TierLimit {
  readonly tokenUs: number;
  readonly burst: number;
}

/**
 * The reference for a `KeyedTokenBucket` with tiers, slow and obvious: a Map that never forgets,
 * with the instant at which each key's bucket was empty. Exact while costs and instants are
 * multiples of small powers of two of a microsecond.
 */
export class KeyTiers<Key> {
  #limits: readonly TierLimit[];
  readonly #zeroUs = new Map<Key, number>();

  constructor(limits: readonly TierLimit[]) {
    this.#limits = limits;
  }

  #limit(tier: number): TierLimit {
    const limit = this.#limits[tier];
    if (limit === undefined) throw new RangeError(`there is no tier ${tier}`);
    return limit;
  }

  #zero(key: Key, nowUs: number, tier: number): number {
    return this.#zeroUnder(this.#limit(tier), key, nowUs);
  }

  #zeroUnder({ burst, tokenUs }: TierLimit, key: Key, nowUs: number): number {
    const full = nowUs - burst * tokenUs;
    return Math.max(this.#zeroUs.get(key) ?? full, full);
  }

  /** Fills the bucket for every tier. */
  reset(key: Key, nowUs: number): void {
    const before = this.#zeroUs.get(key);
    const longest = Math.max(...this.#limits.map(({ tokenUs, burst }) => tokenUs * burst));
    if (before !== undefined) this.#zeroUs.set(key, Math.min(before, nowUs - longest));
  }

  balance(key: Key, nowUs: number, tier: number): number {
    return (nowUs - this.#zero(key, nowUs, tier)) / this.#limit(tier).tokenUs;
  }

  /** Microseconds to wait, or undefined if refused. */
  acquire(key: Key, nowUs: number, n: number, maxWaitUs: number, tier: number): number | undefined {
    return this.acquireUnder(this.#limit(tier), key, nowUs, n, maxWaitUs);
  }

  /** `acquire` under a limit that need not be in force. */
  acquireUnder(
    limit: TierLimit,
    key: Key,
    nowUs: number,
    n: number,
    maxWaitUs: number,
  ): number | undefined {
    if (n === 0) return 0;
    if (n > limit.burst) return undefined;
    const next = this.#zeroUnder(limit, key, nowUs) + n * limit.tokenUs;
    if (next - nowUs > maxWaitUs) return undefined;
    this.#zeroUs.set(key, next);
    return Math.max(0, next - nowUs);
  }

  charge(key: Key, nowUs: number, n: number, tier: number): number {
    if (n === 0) return 0;
    const next = this.#zero(key, nowUs, tier) + n * this.#limit(tier).tokenUs;
    this.#zeroUs.set(key, next);
    return Math.max(0, next - nowUs);
  }

  /** Refuses every tier until an instant, or leaves a longer debt. */
  block(key: Key, nowUs: number, us: number): void {
    this.#zeroUs.set(key, Math.max(this.#zero(key, nowUs, 0), nowUs + us));
  }

  drain(key: Key, nowUs: number, n: number, tier: number): number {
    const taken = Math.max(0, Math.min(n, Math.floor(this.balance(key, nowUs, tier))));
    this.acquire(key, nowUs, taken, 0, tier);
    return taken;
  }

  /** Returns tokens; a bucket that holds more than the tier's burst for another tier keeps them. */
  returnTokens(key: Key, nowUs: number, n: number, tier: number): void {
    const { burst, tokenUs } = this.#limit(tier);
    const before = this.#zeroUs.get(key);
    const full = nowUs - burst * tokenUs;
    if (before === undefined || before <= full) return;
    this.#zeroUs.set(key, Math.max(before - n * tokenUs, full));
  }

  /** Microseconds until the bucket holds `n` tokens. */
  untilUs(key: Key, nowUs: number, n: number, tier: number): number {
    const { burst, tokenUs } = this.#limit(tier);
    if (n > burst) return Number.POSITIVE_INFINITY;
    return Math.max(0, n - this.balance(key, nowUs, tier)) * tokenUs;
  }

  /**
   * Puts other limits in force. If all rates change by one factor, every key keeps its tokens;
   * otherwise it keeps its time.
   */
  change(nowUs: number, limits: readonly TierLimit[]): void {
    const [factor = 1, ...others] = limits.map(
      ({ tokenUs }, tier) => tokenUs / this.#limit(tier).tokenUs,
    );
    if (others.every((other) => other === factor)) {
      for (const [key, zeroUs] of this.#zeroUs) {
        this.#zeroUs.set(key, nowUs - (nowUs - zeroUs) * factor);
      }
    }
    this.#limits = limits;
  }
}
