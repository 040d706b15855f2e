import { Rational } from './rational.ts';

const MILLION = Rational.of(1e6);
const THOUSAND = Rational.of(1e3);

/** A limit, with the options of `TokenBucket.create`. A leaky bucket has a burst of 1 + slack. */
export type ReferenceLimit =
  | { readonly rate: number; readonly burst: number }
  | { readonly quantum: number; readonly fillIntervalMs: number; readonly burst: number };

/** Reserved tokens, which {@link ReferenceBucket.cancel} returns. */
export interface Promised {
  readonly tokens: Rational;
  /** The number of the last of them, counted since the bucket was made. */
  readonly last: Rational;
  readonly limitNumber: number;
  readonly recordNumber: number;
}

/**
 * A textbook bucket in exact arithmetic: tokens flow in, tokens are taken, and any above the burst
 * are lost. Slow, for one thread, and independent of the library's code. Times are microseconds.
 *
 *     tokens = min(burst, inflow since the start - tokens gone)
 *
 * Tokens are counted as they arrive: `before` the start, then with the inflow. A promise is kept when
 * the count reaches its last token. Tokens returned to a bucket in debt count as arrived.
 */
export class ReferenceBucket {
  readonly #nowUs: () => number;
  #limit: ReferenceLimit;
  #burst: Rational;
  #startUs: Rational;
  /**
   * Tokens taken or spilled since the start; initially negative if the bucket started with tokens.
   */
  #gone: Rational;
  #before = Rational.ZERO;
  #limitNumber = 0;
  /** Changes with each limit, renewal, and return that moves promises. */
  #recordNumber = 0;
  #recordUs: Rational;

  constructor(limit: ReferenceLimit, initial: number, nowUs: () => number) {
    this.#nowUs = nowUs;
    this.#limit = limit;
    this.#burst = Rational.of(limit.burst);
    this.#startUs = this.#now;
    this.#recordUs = this.#now;
    this.#gone = Rational.ZERO.minus(Rational.of(initial));
  }

  get #now(): Rational {
    return Rational.of(this.#nowUs());
  }

  /** When the record in force went live. */
  get recordUs(): number {
    return this.#recordUs.toNumber();
  }

  /** Grows with each record. */
  get recordNumber(): number {
    return this.#recordNumber;
  }

  get limit(): ReferenceLimit {
    return this.#limit;
  }

  /** Tokens that flow in per microsecond, or at once per interval. */
  get #flow(): { readonly amount: Rational; readonly everyUs: Rational | undefined } {
    const limit = this.#limit;
    if ('rate' in limit) {
      return { amount: Rational.of(limit.rate).over(MILLION), everyUs: undefined };
    }
    const everyUs = Rational.of(limit.fillIntervalMs).times(THOUSAND);
    return { amount: Rational.of(limit.quantum), everyUs };
  }

  /** All tokens that flowed in from the start until now. */
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

  /** Takes tokens, going into debt if necessary. */
  take(tokens: number): Promised {
    const taken = Rational.of(tokens);
    if (tokens > 0) this.#gone = this.#inflow.minus(this.balance().minus(taken));
    const last = this.#before.plus(this.#gone);
    const [limitNumber, recordNumber] = [this.#limitNumber, this.#recordNumber];
    return { tokens: taken, last, limitNumber, recordNumber };
  }

  /**
   * When a promise is kept, in microseconds; undefined if it was when the record in force went live.
   * Infinity is null.
   */
  dueUs({ last }: Promised): Rational | null | undefined {
    const missing = last.minus(this.#before);
    const { amount, everyUs } = this.#flow;
    if (amount.compare(Rational.ZERO) === 0) {
      return missing.compare(Rational.ZERO) > 0 ? null : undefined;
    }
    const spans = missing.over(amount);
    const us = this.#startUs.plus(everyUs === undefined ? spans : spans.ceil().times(everyUs));
    return us.compare(this.#recordUs) > 0 ? us : undefined;
  }

  /** Whether tokens were returned after a promise was kept: a clock that steps back undoes neither. */
  wasKept({ last }: Promised): boolean {
    return last.minus(this.#before).compare(this.#gone) > 0;
  }

  /**
   * Returns tokens; those above the burst are lost. If the bucket is in debt, promises move up,
   * unless they are `fixed`. Tells whether that is so.
   */
  putBack(tokens: number, fixed = false): boolean {
    const returned = Rational.of(tokens);
    const moves = !fixed && this.balance().compare(Rational.ZERO) < 0 && tokens > 0;
    const balance = this.balance().plus(returned).min(this.#burst);
    this.#gone = this.#inflow.minus(balance);
    if (moves) {
      this.#before = this.#before.plus(returned);
      this.renew();
    }
    return moves;
  }

  /**
   * How far the bucket has moved since a reservation; undefined if the limit has changed or, for a
   * reservation without a place in the queue, the record.
   */
  movedSince(promised: Promised, hasPlace: boolean): Rational | undefined {
    if (promised.limitNumber !== this.#limitNumber) return undefined;
    if (!hasPlace && promised.recordNumber !== this.#recordNumber) return undefined;
    return this.#before.plus(this.#gone).minus(promised.last).abs();
  }

  /** Cancels the latest reservation. */
  cancel(promised: Promised): void {
    this.#gone = this.#gone.minus(promised.tokens);
  }

  /** Keeps the state, but reservations without a place can no longer be cancelled. */
  renew(): void {
    this.#recordNumber++;
    this.#recordUs = this.#now;
  }

  /** Changes the limit; fills of the same interval keep their instants. */
  reconfigure(limit: ReferenceLimit): void {
    const balance = this.balance().min(Rational.of(limit.burst));
    const now = this.#now;
    const before = this.#flow.everyUs;
    const passed = now.minus(this.#startUs);
    const count = this.#before.plus(this.#inflow);
    this.#limit = limit;
    this.#burst = Rational.of(limit.burst);
    const { everyUs } = this.#flow;
    const sameGrid = before !== undefined && everyUs !== undefined && before.compare(everyUs) === 0;
    this.#startUs = sameGrid
      ? this.#startUs.plus(passed.over(everyUs).floor().times(everyUs))
      : now;
    this.#gone = this.#inflow.minus(balance);
    this.#before = count.minus(this.#inflow);
    this.#limitNumber++;
    this.renew();
  }
}
