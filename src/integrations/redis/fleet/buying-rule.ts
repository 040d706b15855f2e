/** How a process buys. */
export interface BuyingTerms {
  /** The most tokens that it holds. */
  readonly stock: number;
  /** So many tokens it keeps however old they are. */
  readonly minStock: number;
  /** At least so long from one command to the next. */
  readonly intervalUs: number;
  /** So long it keeps the others. */
  readonly maxAgeUs: number;
}

/** What to do next. */
export interface Plan {
  /** Tokens to buy. */
  readonly buy: number;
  /** Tokens that have grown too old. */
  readonly lapse: number;
  /** Nobody has asked for tokens since the last look, and there is nothing to do. */
  readonly isQuiet: boolean;
  /** When tokens will be too old, if nobody spends them. */
  readonly lapseAtUs: number;
}

/** Tokens that came at one instant. */
interface Lot {
  readonly atUs: number;
  tokens: number;
}

/** A stock that lasts for less than this is refilled, so that it lasts until the purchase after next. */
const LOW_INTERVALS = 2;
/** and is refilled to last so long. */
const FULL_INTERVALS = 5;
/** A stock that was too small, nobody knows by how much, gets so many times larger. */
const GROWTH = 4;
/** A demand that is no more is forgotten within about so long. */
const MEMORY_INTERVALS = 5;

/**
 * Decides when a process buys, and how much: what it has spent of late, for a few intervals ahead, or
 * a multiple of its last target if that was not enough. It gives back what lies unused for too long.
 * Arithmetic alone: the clock and the stock are read by who asks.
 */
export class BuyingRule {
  readonly #terms: BuyingTerms;
  /** What came and was not spent, the oldest first: what is spent is the oldest. */
  readonly #lots: Lot[] = [];
  /** What the stock held after the last look and what came since. */
  #expected = 0;
  /** Tokens for each microsecond. */
  #demand = 0;
  #spent = 0;
  #sampledUs: number;
  #target: number;
  /** A call has found too few tokens since the last purchase. */
  #isShort = true;
  #tripUs = 0;

  constructor(terms: BuyingTerms, nowUs: number) {
    this.#terms = terms;
    this.#sampledUs = nowUs;
    // So that the first purchase is of `minStock`.
    this.#target = terms.minStock / GROWTH;
  }

  /** Tokens came, `tripUs` after they were asked for. */
  deliver(nowUs: number, tokens: number, tripUs: number): void {
    this.#isShort = false;
    this.#tripUs = tripUs;
    if (tokens > 0) this.#lots.push({ atUs: nowUs, tokens });
    this.#expected += tokens;
  }

  /** Tokens were given back. */
  returnTokens(tokens: number): void {
    this.#take(tokens);
    this.#expected -= tokens;
  }

  /** `held` are the tokens in stock, less those promised; `isShort`: a call has found too few of them. */
  look(nowUs: number, held: number, isShort: boolean): Plan {
    const { stock, minStock, intervalUs, maxAgeUs } = this.#terms;
    const spent = this.#expected - held;
    this.#expected = held;
    this.#sample(nowUs, spent);
    this.#reconcile(nowUs, Math.max(0, held));

    this.#isShort ||= isShort;
    const isAsked = spent > 0 || held < 0 || this.#isShort;
    const low = Math.max(minStock, this.#demand * (LOW_INTERVALS * intervalUs + this.#tripUs));
    let buy = 0;
    if (isAsked && (this.#isShort || held < low)) {
      this.#target = this.#nextTarget();
      const room = stock - Math.max(0, Math.ceil(held));
      buy = Math.max(0, Math.min(room, Math.ceil(this.#target - held)));
    }
    const lapse = buy > 0 ? 0 : this.#tooOld(nowUs - maxAgeUs);
    return {
      buy,
      lapse,
      isQuiet: !isAsked && lapse === 0,
      lapseAtUs: this.#lapsesFrom() + maxAgeUs,
    };
  }

  #nextTarget(): number {
    const { stock, minStock, intervalUs } = this.#terms;
    const steady = this.#demand * (FULL_INTERVALS * intervalUs + this.#tripUs);
    const grown = this.#isShort ? this.#target * GROWTH : 0;
    return Math.min(stock, Math.max(minStock, steady, grown));
  }

  /** Follows a rise at once, and a fall slowly. */
  #sample(nowUs: number, spent: number): void {
    this.#spent += Math.max(0, spent);
    const elapsedUs = nowUs - this.#sampledUs;
    const { intervalUs } = this.#terms;
    if (elapsedUs < intervalUs) return;
    const demand = this.#spent / elapsedUs;
    const kept = demand > this.#demand ? 0 : Math.exp(-elapsedUs / (MEMORY_INTERVALS * intervalUs));
    this.#demand = demand + (this.#demand - demand) * kept;
    this.#spent = 0;
    this.#sampledUs = nowUs;
  }

  /** What is missing was spent; what is there beside was returned by those who had taken it. */
  #reconcile(nowUs: number, held: number): void {
    const more = held - this.#lots.reduce((sum, { tokens }) => sum + tokens, 0);
    if (more > 0) this.#lots.push({ atUs: nowUs, tokens: more });
    else this.#take(-more);
  }

  #take(tokens: number): void {
    let left = tokens;
    while (left > 0) {
      const lot = this.#lots[0];
      if (lot === undefined) return;
      const part = Math.min(left, lot.tokens);
      lot.tokens -= part;
      left -= part;
      if (lot.tokens === 0) this.#lots.shift();
    }
  }

  /** Whole tokens that came by then, beyond those that are kept anyway. */
  #tooOld(byUs: number): number {
    let tokens = -this.#terms.minStock;
    for (const lot of this.#lots) if (lot.atUs <= byUs) tokens += lot.tokens;
    return Math.max(0, Math.floor(tokens));
  }

  /** When the oldest came of those that are not kept anyway. */
  #lapsesFrom(): number {
    let tokens = -this.#terms.minStock;
    for (const lot of this.#lots) {
      tokens += lot.tokens;
      if (tokens >= 1) return lot.atUs;
    }
    return Number.POSITIVE_INFINITY;
  }
}
