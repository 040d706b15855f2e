import { Rational } from '../support/rational.ts';
import { Calls, type Taken } from './calls.ts';
import { Contents, type Limit } from './contents.ts';

const ZERO = Rational.ZERO;

/** Reserved tokens. */
export interface Promised extends Taken {
  /** The number of the last of them, counted since the bucket was made. */
  readonly last: Rational;
  readonly limitNumber: number;
  readonly recordNumber: number;
}

/**
 * A `TokenBucket`. Tokens are counted as they arrive: `before` the limit in force, then with the
 * inflow. A promise is kept when the count reaches its last token. Tokens returned to a bucket in debt
 * count as arrived.
 */
export class TokenBucketOracle extends Calls<Promised> {
  #contents: Contents;
  #before = ZERO;
  #limitNumber = 0;
  /** Changes with each limit, renewal, and return that moves promises. */
  #recordNumber = 0;
  #recordUs: Rational;
  readonly #isFixed: boolean;

  /** The promises of some buckets are `fixed`: nothing moves them. */
  constructor(limit: Limit, initial: number, nowUs: () => number, isFixed = false) {
    super(nowUs);
    this.#contents = new Contents(limit, this.now, ZERO.minus(Rational.of(initial)));
    this.#recordUs = this.now;
    this.#isFixed = isFixed;
  }

  /** When the record in force went live. */
  get recordUs(): number {
    return this.#recordUs.toNumber();
  }

  /** Grows with each record. */
  get recordNumber(): number {
    return this.#recordNumber;
  }

  get limit(): Limit {
    return this.#contents.limit;
  }

  override get burst(): number {
    return this.limit.burst;
  }

  override balance(): Rational {
    return this.#contents.balance(this.now);
  }

  override waitUs(tokens: number): Rational | undefined {
    return this.#contents.waitUs(Rational.of(tokens), this.now);
  }

  override take(tokens: number): Promised {
    const waitUs = this.waitToTakeUs(tokens);
    if (tokens > 0) this.#contents = this.#contents.taking(Rational.of(tokens), this.now);
    const promised: Promised = {
      ...{ n: tokens, waitUs, last: this.#before.plus(this.#contents.zero) },
      ...{ limitNumber: this.#limitNumber, recordNumber: this.#recordNumber },
      due: () => this.dueUs(promised),
      cancel: () => {
        const hasPlace = waitUs?.compare(ZERO) !== 0;
        const isLatest = this.movedSince(promised, hasPlace)?.compare(ZERO) === 0;
        if (isLatest) this.undo(promised);
        return isLatest;
      },
    };
    return promised;
  }

  /** When a promise is kept; `past` if it was when the record in force went live. */
  dueUs({ last }: Promised): Rational | undefined | 'past' {
    const missing = last.minus(this.#before);
    const { flow, everyUs, sinceUs, isPaused } = this.#contents;
    if (isPaused) return missing.compare(ZERO) > 0 ? undefined : 'past';
    const spans = missing.over(flow);
    const us = sinceUs.plus(everyUs === undefined ? spans : spans.ceil().times(everyUs));
    return us.compare(this.#recordUs) > 0 ? us : 'past';
  }

  /** Whether tokens were returned after a promise was kept: a clock that steps back undoes neither. */
  wasKept({ last }: Promised): boolean {
    return last.minus(this.#before).compare(this.#contents.zero) > 0;
  }

  /** Tokens above the burst are lost. If the bucket is in debt, promises move up. */
  override putBack(tokens: number): boolean {
    const returned = Rational.of(tokens);
    const moves = !this.#isFixed && this.balance().compare(ZERO) < 0 && tokens > 0;
    this.#contents = this.#contents.returned(returned, this.now);
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
    return this.#before.plus(this.#contents.zero).minus(promised.last).abs();
  }

  /** Cancels the latest reservation. */
  undo({ n }: Promised): void {
    this.#contents = this.#contents.withZero(this.#contents.zero.minus(Rational.of(n)));
  }

  /** Keeps the state, but reservations without a place can no longer be cancelled. */
  renew(): void {
    this.#recordNumber++;
    this.#recordUs = this.now;
  }

  /** Changes the limit; fills of the same interval keep their instants. */
  reconfigure(limit: Limit): void {
    const before = this.#contents;
    const now = this.now;
    const count = this.#before.plus(before.arrivedBy(now));
    const { everyUs } = new Contents(limit, now);
    const isSameGrid = everyUs !== undefined && before.everyUs?.compare(everyUs) === 0;
    const fills = isSameGrid ? now.minus(before.sinceUs).over(everyUs).floor() : ZERO;
    const sinceUs = isSameGrid ? before.sinceUs.plus(fills.times(everyUs)) : now;
    const held = before.balance(now).min(Rational.of(limit.burst));
    this.#contents = new Contents(limit, sinceUs).holding(held, now);
    this.#before = count.minus(this.#contents.arrivedBy(now));
    this.#limitNumber++;
    this.renew();
  }
}
