import type { FleetTerms } from './cell.ts';

/** The terms by which a process buys. */
export type BuyingTerms = Pick<FleetTerms, 'stock' | 'minStock' | 'intervalMs' | 'maxAgeMs'>;

export interface Plan {
  readonly buy: number;
  /** Tokens to return because they are too old. */
  readonly lapse: number;
  /** Whether no tokens were requested since the last look and there is nothing to do. */
  readonly isQuiet: boolean;
  /** When the oldest tokens lapse if none are spent. */
  readonly lapseAtUs: number;
}

/** Tokens that arrived together. */
interface Lot {
  readonly atUs: number;
  tokens: number;
}

/** A stock is refilled if it lasts less than this: it must last until the purchase after next. */
const LOW_INTERVALS = 2;
/** A refill covers the demand of this many intervals. */
const FULL_INTERVALS = 5;
/** The target of a stock that ran dry grows by this factor, since the unmet demand is unknown. */
const GROWTH = 4;
/** Time constant with which the estimate follows a falling demand. */
const MEMORY_INTERVALS = 5;

/**
 * Decides when to buy and how much: a few intervals of recent demand or, if the stock ran dry, a
 * multiple of the last target. Returns tokens that stay unused for too long. Pure: the caller reads
 * the clock and the stock.
 */
export class BuyingRule {
  readonly #terms: BuyingTerms;
  readonly #intervalUs: number;
  readonly #maxAgeUs: number;
  /** Unspent tokens, oldest first. Spending takes the oldest. */
  readonly #lots: Lot[] = [];
  /** The balance at the last look, plus deliveries and minus returns since. */
  #expected = 0;
  /** Tokens per microsecond. */
  #demand = 0;
  #spent = 0;
  #sampledUs: number;
  #target: number;
  /** Whether a call has found too few tokens since the last purchase. */
  #isShort = true;
  #tripUs = 0;

  constructor(terms: BuyingTerms, nowUs: number) {
    this.#terms = terms;
    this.#intervalUs = terms.intervalMs * 1000;
    this.#maxAgeUs = terms.maxAgeMs * 1000;
    this.#sampledUs = nowUs;
    // The first look counts as short and therefore buys `minStock`.
    this.#target = terms.minStock / GROWTH;
  }

  /** Records a delivery, `tripUs` after it was requested. */
  deliver(nowUs: number, tokens: number, tripUs: number): void {
    this.#isShort = false;
    this.#tripUs = tripUs;
    if (tokens > 0) this.#lots.push({ atUs: nowUs, tokens });
    this.#expected += tokens;
  }

  returnTokens(tokens: number): void {
    this.#take(tokens);
    this.#expected -= tokens;
  }

  /**
   * @param held tokens in stock, minus promised ones
   * @param isShort whether a call found too few tokens
   */
  look(nowUs: number, held: number, isShort: boolean): Plan {
    const { stock, minStock } = this.#terms;
    const spent = this.#expected - held;
    this.#expected = held;
    this.#sample(nowUs, spent);
    this.#reconcile(nowUs, Math.max(0, held));

    this.#isShort ||= isShort;
    const isAsked = spent > 0 || held < 0 || this.#isShort;
    const low = Math.max(
      minStock,
      this.#demand * (LOW_INTERVALS * this.#intervalUs + this.#tripUs),
    );
    let buy = 0;
    if (isAsked && (this.#isShort || held < low)) {
      this.#target = this.#nextTarget();
      const room = stock - Math.max(0, Math.ceil(held));
      buy = Math.max(0, Math.min(room, Math.ceil(this.#target - held)));
    }
    const lapse = buy > 0 ? 0 : this.#tooOld(nowUs - this.#maxAgeUs);
    return {
      buy,
      lapse,
      isQuiet: !isAsked && lapse === 0,
      lapseAtUs: this.#lapsesFrom() + this.#maxAgeUs,
    };
  }

  #nextTarget(): number {
    const { stock, minStock } = this.#terms;
    const steady = this.#demand * (FULL_INTERVALS * this.#intervalUs + this.#tripUs);
    const grown = this.#isShort ? this.#target * GROWTH : 0;
    return Math.min(stock, Math.max(minStock, steady, grown));
  }

  /** Follows a rise of the demand at once and a fall slowly. */
  #sample(nowUs: number, spent: number): void {
    this.#spent += Math.max(0, spent);
    const elapsedUs = nowUs - this.#sampledUs;
    const intervalUs = this.#intervalUs;
    if (elapsedUs < intervalUs) return;
    const demand = this.#spent / elapsedUs;
    const kept = demand > this.#demand ? 0 : Math.exp(-elapsedUs / (MEMORY_INTERVALS * intervalUs));
    this.#demand = demand + (this.#demand - demand) * kept;
    this.#spent = 0;
    this.#sampledUs = nowUs;
  }

  /** Missing tokens have been spent; callers have returned surplus ones to the stock. */
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

  /** Whole tokens that arrived by `byUs`, beyond `minStock`. */
  #tooOld(byUs: number): number {
    let tokens = -this.#terms.minStock;
    for (const lot of this.#lots) if (lot.atUs <= byUs) tokens += lot.tokens;
    return Math.max(0, Math.floor(tokens));
  }

  /** When the oldest token beyond `minStock` arrived. */
  #lapsesFrom(): number {
    let tokens = -this.#terms.minStock;
    for (const lot of this.#lots) {
      tokens += lot.tokens;
      if (tokens >= 1) return lot.atUs;
    }
    return Number.POSITIVE_INFINITY;
  }
}
