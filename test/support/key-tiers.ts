/** A limit: microseconds per token, and the largest number of tokens. */
export interface TierLimit {
  readonly tokenUs: number;
  readonly burst: number;
}

/** What a bucket held at an instant. */
interface Held {
  readonly tokens: number;
  readonly atUs: number;
}

/** A key's bucket, which counts under one tier at a time. */
interface KeyHeld extends Held {
  readonly tier: number;
}

/**
 * The reference for a `KeyedTokenBucket` with tiers, slow and obvious: a Map that never forgets, with
 * what each key holds, and what a key holds that took nothing. Exact while costs and instants are
 * multiples of small powers of two of a microsecond.
 */
export class KeyTiers<Key> {
  #limits: readonly TierLimit[];
  /** What a key holds that took nothing, under each limit. */
  #unused: readonly Held[];
  readonly #held = new Map<Key, KeyHeld>();

  constructor(limits: readonly TierLimit[]) {
    this.#limits = limits;
    this.#unused = limits.map(({ burst }) => ({
      tokens: burst,
      atUs: Number.NEGATIVE_INFINITY,
    }));
  }

  #limit(tier: number): TierLimit {
    const limit = this.#limits[tier];
    if (limit === undefined) throw new RangeError(`there is no tier ${tier}`);
    return limit;
  }

  #filled({ tokens, atUs }: Held, nowUs: number, { burst, tokenUs }: TierLimit): number {
    return Math.min(burst, tokens + (nowUs - atUs) / tokenUs);
  }

  #full(nowUs: number, tier: number): number {
    const unused = this.#unused[tier];
    if (unused === undefined) throw new RangeError(`there is no tier ${tier}`);
    return this.#filled(unused, nowUs, this.#limit(tier));
  }

  /** The tokens of a key: another tier keeps what was used, and the end of a debt. */
  balance(key: Key, nowUs: number, tier: number): number {
    const held = this.#held.get(key);
    if (held === undefined) return this.#full(nowUs, tier);
    const before = this.#limit(held.tier);
    const tokens = this.#filled(held, nowUs, before);
    if (held.tier === tier) return tokens;
    const used = Math.max(0, this.#full(nowUs, held.tier) - tokens);
    const left = this.#full(nowUs, tier) - used;
    if (tokens >= 0 || used === 0) return left;
    // When the debt ends, all that a key of the old tier can hold is used.
    const debtUs = -tokens * before.tokenUs;
    const endUs = nowUs + debtUs;
    const then = Math.min(0, this.#full(endUs, tier) - this.#full(endUs, held.tier));
    return Math.min(left, then - debtUs / this.#limit(tier).tokenUs);
  }

  #hold(key: Key, nowUs: number, tier: number, tokens: number): void {
    this.#held.set(key, { tier, tokens, atUs: nowUs });
  }

  /** Fills the bucket for every tier. */
  reset(key: Key): void {
    this.#held.delete(key);
  }

  /** Microseconds to wait, or undefined if refused. */
  acquire(key: Key, nowUs: number, n: number, maxWaitUs: number, tier: number): number | undefined {
    if (n === 0) return 0;
    const { burst, tokenUs } = this.#limit(tier);
    if (n > burst) return undefined;
    const left = this.balance(key, nowUs, tier) - n;
    if (-left * tokenUs > maxWaitUs) return undefined;
    this.#hold(key, nowUs, tier, left);
    return Math.max(0, -left * tokenUs);
  }

  charge(key: Key, nowUs: number, n: number, tier: number): number {
    if (n === 0) return 0;
    const left = this.balance(key, nowUs, tier) - n;
    this.#hold(key, nowUs, tier, left);
    return Math.max(0, -left * this.#limit(tier).tokenUs);
  }

  /** Refuses every tier until an instant, or leaves a longer debt. */
  block(key: Key, nowUs: number, us: number): void {
    const own = this.#held.get(key)?.tier ?? 0;
    const tier = this.balance(key, nowUs, own) < this.#full(nowUs, own) ? own : 0;
    const least = -us / this.#limit(tier).tokenUs;
    this.#hold(key, nowUs, tier, Math.min(this.balance(key, nowUs, tier), least));
  }

  drain(key: Key, nowUs: number, n: number, tier: number): number {
    const taken = Math.max(0, Math.min(n, Math.floor(this.balance(key, nowUs, tier))));
    this.acquire(key, nowUs, taken, 0, tier);
    return taken;
  }

  returnTokens(key: Key, nowUs: number, n: number, tier: number): void {
    if (!this.#held.has(key)) return;
    const full = this.#full(nowUs, tier);
    const before = this.balance(key, nowUs, tier);
    if (before < full) this.#hold(key, nowUs, tier, Math.min(before + n, full));
  }

  /** Microseconds until the bucket holds `n` tokens. */
  untilUs(key: Key, nowUs: number, n: number, tier: number): number {
    const { burst, tokenUs } = this.#limit(tier);
    if (n > burst) return Number.POSITIVE_INFINITY;
    return Math.max(0, n - this.balance(key, nowUs, tier)) * tokenUs;
  }

  /** Puts other limits in force: every key keeps its tokens, up to the new burst. */
  change(nowUs: number, limits: readonly TierLimit[]): void {
    const most = (tier: number) => limits[tier]?.burst ?? 0;
    for (const [key, { tier }] of this.#held) {
      const tokens = this.balance(key, nowUs, tier);
      this.#hold(key, nowUs, tier, Math.min(tokens, most(tier)));
    }
    this.#unused = limits.map(({ burst }, tier) => {
      return { tokens: Math.min(this.#full(nowUs, tier), burst), atUs: nowUs };
    });
    this.#limits = limits;
  }
}
