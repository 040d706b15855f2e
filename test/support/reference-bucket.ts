import { Rational } from './rational.ts';

const MILLION = Rational.of(1e6);
const THOUSAND = Rational.of(1e3);

/** A limit, in the words of `TokenBucket.create`. A leaky bucket has a burst of 1 + slack. */
export type ReferenceLimit =
  | { readonly rate: number; readonly burst: number }
  | { readonly quantum: number; readonly fillIntervalMs: number; readonly burst: number };

/** Tokens promised: what {@link ReferenceBucket.cancel} takes back. */
export interface Promised {
  readonly tokens: Rational;
  /** Where the bucket stood once they were taken. */
  readonly gone: Rational;
  readonly limitNumber: number;
}

/**
 * The textbook's bucket, in exact arithmetic: tokens flow in, tokens go, and what does not fit is
 * lost. Slow, for one thread, and without a word of the library's code. Times are microseconds.
 *
 *     tokens = min(burst, inflow since the start - tokens gone)
 */
export class ReferenceBucket {
  readonly #nowUs: () => number;
  #limit: ReferenceLimit;
  #burst: Rational;
  #startUs: Rational;
  /** Tokens taken or spilt since the start; negative once tokens were there at the start. */
  #gone: Rational;
  #limitNumber = 0;

  constructor(limit: ReferenceLimit, initial: number, nowUs: () => number) {
    this.#nowUs = nowUs;
    this.#limit = limit;
    this.#burst = Rational.of(limit.burst);
    this.#startUs = this.#now;
    this.#gone = Rational.ZERO.minus(Rational.of(initial));
  }

  get #now(): Rational {
    return Rational.of(this.#nowUs());
  }

  get limit(): ReferenceLimit {
    return this.#limit;
  }

  /** Tokens that flow in within a microsecond, or all at once in an interval. */
  get #flow(): { readonly amount: Rational; readonly everyUs: Rational | undefined } {
    const limit = this.#limit;
    if ('rate' in limit) {
      return { amount: Rational.of(limit.rate).over(MILLION), everyUs: undefined };
    }
    const everyUs = Rational.of(limit.fillIntervalMs).times(THOUSAND);
    return { amount: Rational.of(limit.quantum), everyUs };
  }

  /** All that flowed in from the start until now. */
  get #inflow(): Rational {
    const passed = this.#now.minus(this.#startUs);
    const { amount, everyUs } = this.#flow;
    return (everyUs === undefined ? passed : passed.over(everyUs).floor()).times(amount);
  }

  /** Tokens in the bucket, negative in debt. */
  balance(): Rational {
    return this.#inflow.minus(this.#gone).min(this.#burst);
  }

  /** Microseconds until the bucket holds `tokens`; undefined if it never will. */
  waitUs(tokens: number): Rational | undefined {
    const missing = Rational.of(tokens).minus(this.balance());
    if (missing.compare(Rational.ZERO) <= 0) return Rational.ZERO;
    if (Rational.of(tokens).compare(this.#burst) > 0) return undefined;
    const { amount, everyUs } = this.#flow;
    if (everyUs === undefined) return missing.over(amount);
    const sinceStart = this.#now.minus(this.#startUs);
    const fills = sinceStart.over(everyUs).floor().plus(missing.over(amount).ceil());
    return fills.times(everyUs).minus(sinceStart);
  }

  /** Takes tokens, whether they are there or not. */
  take(tokens: number): Promised {
    const taken = Rational.of(tokens);
    if (tokens > 0) this.#gone = this.#inflow.minus(this.balance().minus(taken));
    return { tokens: taken, gone: this.#gone, limitNumber: this.#limitNumber };
  }

  /** Puts tokens back; what does not fit is lost. */
  putBack(tokens: number): void {
    const balance = this.balance().plus(Rational.of(tokens)).min(this.#burst);
    this.#gone = this.#inflow.minus(balance);
  }

  /** How far the bucket has moved on since a promise; undefined under another limit. */
  movedSince(promised: Promised): Rational | undefined {
    if (promised.limitNumber !== this.#limitNumber) return undefined;
    return this.#gone.minus(promised.gone).abs();
  }

  /** Takes the latest promise back. */
  cancel(promised: Promised): void {
    this.#gone = this.#gone.minus(promised.tokens);
  }

  /** Changes nothing, but what was promised can no longer be taken back. */
  renew(): void {
    this.#limitNumber++;
  }

  /** Puts another limit in force; fills of the same interval keep their instants. */
  reconfigure(limit: ReferenceLimit): void {
    const balance = this.balance().min(Rational.of(limit.burst));
    const now = this.#now;
    const before = this.#flow.everyUs;
    const passed = now.minus(this.#startUs);
    this.#limit = limit;
    this.#burst = Rational.of(limit.burst);
    const { everyUs } = this.#flow;
    const sameGrid = before !== undefined && everyUs !== undefined && before.compare(everyUs) === 0;
    this.#startUs = sameGrid
      ? this.#startUs.plus(passed.over(everyUs).floor().times(everyUs))
      : now;
    this.#gone = this.#inflow.minus(balance);
    this.#limitNumber++;
  }
}
