import { Rational } from '../support/rational.ts';
import { Calls, type Taken } from './calls.ts';
import { Contents, type Limit, max } from './contents.ts';
import { LimitSetOracle, type RateLimit } from './limit-set.ts';

const ZERO = Rational.ZERO;

/** The calls of a key. */
export interface KeyCalls extends Calls {
  /** Empties the bucket for a time, under every tier. A longer debt stays. */
  block(us: number): void;
  /** Fills the bucket, for every tier. */
  reset(): void;
}

/** A table, as a map that never forgets a key. */
export interface Keys<Key> {
  of(key: Key, tier?: number): KeyCalls;
  isFull(key: Key): boolean;
  /** How many keys are not full. */
  notFull(): number;
  reconfigure(limits: readonly Limit[]): void;
}

/** Of a `KeyedLimitSet`. */
export class SetKeys<Key> implements Keys<Key> {
  /** Of a key that was never seen. */
  readonly #fresh: LimitSetOracle;
  readonly #sets = new Map<Key, LimitSetOracle>();

  constructor(limits: readonly RateLimit[], nowUs: () => number) {
    this.#fresh = LimitSetOracle.full(limits, nowUs);
  }

  of(key: Key): LimitSetOracle {
    const known = this.#sets.get(key) ?? this.#fresh.copy();
    this.#sets.set(key, known);
    return known;
  }

  isFull(key: Key): boolean {
    return this.of(key).fullUs()?.compare(ZERO) === 0;
  }

  notFull(): number {
    return [...this.#sets.keys()].filter((key) => !this.isFull(key)).length;
  }

  reconfigure(limits: readonly Limit[]): void {
    const rates = limits as readonly RateLimit[]; // a set has no windows
    for (const set of [this.#fresh, ...this.#sets.values()]) set.reconfigure(rates);
  }
}

function mostOf(limits: readonly Limit[]): Rational {
  return Rational.of(Math.max(...limits.map(({ burst }) => burst)));
}

/** Of a `LimitSet`, as if it were a table of one key. */
export class OneSet<Key> implements Keys<Key> {
  readonly #set: LimitSetOracle;

  constructor(limits: readonly RateLimit[], nowUs: () => number) {
    this.#set = new LimitSetOracle(limits, 0, nowUs);
    // All start full.
    this.#set.putBack(Math.max(...limits.map(({ burst }) => burst)));
  }

  of(): LimitSetOracle {
    return this.#set;
  }

  isFull(): boolean {
    return this.#set.fullUs()?.compare(ZERO) === 0;
  }

  notFull(): number {
    return this.isFull() ? 0 : 1;
  }

  reconfigure(limits: readonly Limit[]): void {
    this.#set.reconfigure(limits as readonly RateLimit[]); // a set has no windows
  }
}

/** What a key holds, under the tier that it named last. */
interface Held {
  readonly tier: number;
  readonly contents: Contents;
  /** A window of which more is used than its limit: that was higher, or is so under another tier. */
  readonly over?: { readonly window: Rational; readonly used: Rational } | undefined;
}

/** The number of the window at an instant. */
function windowAt({ everyUs, sinceUs }: Contents, us: Rational): Rational {
  return everyUs === undefined ? ZERO : us.minus(sinceUs).over(everyUs).floor();
}

/** How many windows are used up from the present one on, and what is used of the one behind them. */
function usage({ contents, over }: Held, now: Rational) {
  const { burst } = contents;
  const used = burst.minus(contents.balance(now));
  const ahead = max(ZERO, used.over(burst).ceil().minus(Rational.of(1)));
  const window = windowAt(contents, now).plus(ahead);
  const isOver = over?.window.compare(window) === 0;
  return { ahead, window, used: isOver ? over.used : used.minus(ahead.times(burst)) };
}

/**
 * A window under another limit: what was used stays used. What exceeds a lower limit is forgiven when
 * the window ends. Windows that are used up stay so under another tier; if the limit changes, what is
 * owed to later ones fills those.
 */
function recounted(held: Held, tier: number, to: Contents, now: Rational): Held {
  const { ahead, window, used } = usage(held, now);
  const { burst } = held.contents;
  if (tier === held.tier && ahead.compare(ZERO) > 0) {
    const owed = ahead.times(burst).plus(used.min(burst));
    return { tier, contents: to.holding(to.burst.minus(owed), now) };
  }
  const contents = to.holding(to.burst.minus(ahead.times(to.burst)).minus(used.min(to.burst)), now);
  return { tier, contents, over: used.compare(to.burst) > 0 ? { window, used } : undefined };
}

/**
 * Of a `KeyedTokenBucket`, whose first limit is its own and whose others are those of its tiers, or of
 * a `KeyedFixedWindow`, which a fill fills at the start of each window.
 */
export class TierKeys<Key> implements Keys<Key> {
  readonly nowUs: () => number;
  /** What a key holds that took nothing, under each limit. */
  #unused: readonly Contents[];
  /** Tokens that had arrived under each limit before the one in force, since the first. */
  #before: readonly Rational[];
  readonly #held = new Map<Key, Held>();
  /** The largest limit so far. */
  #most: Rational;

  constructor(limits: readonly Limit[], nowUs: () => number) {
    this.nowUs = nowUs;
    this.#most = mostOf(limits);
    this.#unused = limits.map((limit) => Contents.full(limit, this.now));
    this.#before = limits.map(() => ZERO);
  }

  get now(): Rational {
    return Rational.of(this.nowUs());
  }

  of(key: Key, tier = 0): KeyCalls {
    return new TierKey(this, key, tier);
  }

  unused(tier: number): Contents {
    const unused = this.#unused[tier];
    if (unused === undefined) throw new RangeError(`there is no tier ${tier}`);
    return unused;
  }

  /** The number of the token at a zero-time of a tier. */
  indexOf(tier: number, zero: Rational): Rational {
    return zero.plus(this.#before[tier] ?? ZERO);
  }

  /** When the token with a number arrives; `past` if it had when the limits last changed. */
  dueUs(tier: number, index: Rational): Rational | 'past' {
    const { flow, sinceUs } = this.unused(tier);
    const missing = index.minus(this.#before[tier] ?? ZERO);
    return missing.compare(ZERO) <= 0 ? 'past' : sinceUs.plus(missing.over(flow));
  }

  held(key: Key): Held | undefined {
    return this.#held.get(key);
  }

  /** Another tier keeps what was used, and the end of a debt. */
  contents(key: Key, tier: number): Contents {
    const held = this.held(key);
    const unused = this.unused(tier);
    if (held === undefined) return unused;
    if (held.tier === tier) return held.contents;
    const { now } = this;
    if (unused.everyUs !== undefined) return recounted(held, tier, unused, now).contents;
    const before = this.unused(held.tier);
    const tokens = held.contents.balance(now);
    const used = max(ZERO, before.balance(now).minus(tokens));
    const left = unused.balance(now).minus(used);
    if (tokens.compare(ZERO) >= 0 || used.compare(ZERO) === 0) return unused.holding(left, now);
    // When the debt ends, all that a key of the old tier can hold is used.
    const debtUs = ZERO.minus(tokens).over(before.flow);
    const endUs = now.plus(debtUs);
    const then = ZERO.min(unused.balance(endUs).minus(before.balance(endUs)));
    return unused.holding(left.min(then.minus(debtUs.times(unused.flow))), now);
  }

  hold(key: Key, tier: number, contents: Contents): void {
    const held = this.held(key);
    const isSame = held?.tier === tier && held.contents.zero.compare(contents.zero) === 0;
    this.#held.set(key, { tier, contents, over: isSame ? held.over : undefined });
  }

  /** Empties a bucket for a time. The last window of it is used up for every tier. */
  block(key: Key, tier: number, us: Rational): void {
    const { now } = this;
    const contents = this.contents(key, tier).blocked(now, us);
    this.hold(key, tier, contents);
    const { everyUs, sinceUs } = contents;
    if (everyUs === undefined) return;
    const { window } = usage({ tier, contents }, now);
    const starts = now.plus(us).minus(sinceUs).over(everyUs).ceil();
    if (window.compare(starts.minus(Rational.of(1))) !== 0) return;
    this.#held.set(key, { tier, contents, over: { window, used: this.#most } });
  }

  forget(key: Key): void {
    this.#held.delete(key);
  }

  isFull(key: Key): boolean {
    const held = this.held(key);
    if (held === undefined) return true;
    const most = this.unused(held.tier).balance(this.now);
    return held.contents.balance(this.now).compare(most) >= 0;
  }

  notFull(): number {
    return [...this.#held.keys()].filter((key) => !this.isFull(key)).length;
  }

  /** Every key keeps its tokens, up to the new burst; or its count, in windows. */
  reconfigure(limits: readonly Limit[]): void {
    const { now } = this;
    this.#most = max(this.#most, mostOf(limits));
    if (this.unused(0).everyUs !== undefined) {
      const { sinceUs } = this.unused(0);
      this.#unused = limits.map((limit) => Contents.full(limit, sinceUs));
      for (const [key, held] of this.#held) {
        this.#held.set(key, recounted(held, held.tier, this.unused(held.tier), now));
      }
      return;
    }
    const next = limits.map((limit) => Contents.full(limit, now));
    const kept = (tier: number, before: Contents): Contents => {
      const { burst } = next[tier] as Contents; // a change has as many limits
      return (next[tier] as Contents).holding(before.balance(now).min(burst), now);
    };
    for (const [key, { tier, contents }] of this.#held) this.hold(key, tier, kept(tier, contents));
    this.#before = this.#unused.map((one, tier) => this.indexOf(tier, one.arrivedBy(now)));
    this.#unused = this.#unused.map((unused, tier) => kept(tier, unused));
  }
}

class TierKey<Key> extends Calls implements KeyCalls {
  readonly #keys: TierKeys<Key>;
  readonly #key: Key;
  readonly #tier: number;

  constructor(keys: TierKeys<Key>, key: Key, tier: number) {
    super(keys.nowUs);
    this.#keys = keys;
    this.#key = key;
    this.#tier = tier;
  }

  get #contents(): Contents {
    return this.#keys.contents(this.#key, this.#tier);
  }

  #hold(contents: Contents): void {
    this.#keys.hold(this.#key, this.#tier, contents);
  }

  override get burst(): number {
    return this.#keys.unused(this.#tier).limit.burst;
  }

  override balance(): Rational {
    return this.#contents.balance(this.now);
  }

  override waitUs(tokens: number): Rational | undefined {
    if (tokens > this.burst) return undefined;
    return this.#contents.waitUs(Rational.of(tokens), this.now);
  }

  override acquire(tokens: number, maxWaitUs?: number): Taken | undefined {
    const taken = super.acquire(tokens, maxWaitUs);
    if (taken === undefined && tokens <= this.burst) this.#move();
    return taken;
  }

  override drain(most: number): number {
    const taken = super.drain(most);
    if (taken === 0 && most >= 1 && this.burst >= 1) this.#move();
    return taken;
  }

  /**
   * A refused key that owes nothing changes to a faster tier, too. Windows fill at the same instants.
   */
  #move(): void {
    const held = this.#keys.held(this.#key)?.contents;
    const contents = this.#contents;
    if (held === undefined || held.everyUs !== undefined) return;
    const isFaster = contents.flow.compare(held.flow) > 0;
    if (isFaster && this.balance().compare(ZERO) >= 0) this.#hold(contents);
  }

  override take(tokens: number): Taken {
    const waitUs = this.waitToTakeUs(tokens);
    const contents = this.#contents.taking(Rational.of(tokens), this.now);
    if (tokens > 0) this.#hold(contents);
    const index = this.#keys.indexOf(this.#tier, contents.zero);
    return {
      ...{ n: tokens, waitUs },
      due: () => this.#keys.dueUs(this.#tier, index),
      cancel: () => this.#cancel(contents, tokens),
    };
  }

  /** While the bucket is as the admission left it. */
  #cancel(then: Contents, tokens: number): boolean {
    if (tokens === 0) return true;
    const held = this.#keys.held(this.#key)?.contents;
    if (held?.limit !== then.limit || held.zero.compare(then.zero) !== 0) return false;
    this.#hold(held.withZero(held.zero.minus(Rational.of(tokens))));
    return true;
  }

  /** What is promised does not move, and the key keeps its tier. */
  override putBack(tokens: number): boolean {
    const held = this.#keys.held(this.#key);
    if (held === undefined) return false;
    const most = this.#keys.unused(held.tier).balance(this.now);
    if (held.contents.balance(this.now).compare(most) >= 0) return false;
    const contents = held.contents.returned(Rational.of(tokens), this.now, most);
    this.#keys.hold(this.#key, held.tier, contents);
    return false;
  }

  /** An unused bucket counts under the table's own limit. */
  block(us: number): void {
    const held = this.#keys.held(this.#key);
    const tier = held === undefined || this.#keys.isFull(this.#key) ? 0 : held.tier;
    this.#keys.block(this.#key, tier, Rational.of(us));
  }

  reset(): void {
    this.#keys.forget(this.#key);
  }
}
