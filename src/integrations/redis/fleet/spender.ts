import { RateLimitError } from '../../../errors.ts';
import { checkOptions } from '../../../known-options.ts';
import type { Waited, WaitOptions } from '../../../limiters/limiter.ts';
import type { Reservation } from '../../../limiters/reservation.ts';
import {
  AT_ONCE,
  checkWait,
  queueFull,
  timedOut,
  Waiters,
  waitedSince,
} from '../../../limiters/waiting.ts';
import { readFields } from '../../../memory/read-fields.ts';
import { checkTokens } from '../../../options.ts';
import { attachClock } from '../../../time/attach-clock.ts';
import type { Clock, ClockHandle } from '../../../time/clock.ts';
import { onAbort } from '../../../time/on-abort.ts';
import { onInstant } from '../../../time/on-instant.ts';
import { checkSource, type TokenSource } from '../token-source.ts';
import { Buyer } from './buyer.ts';
import { type FleetHandle, Stock } from './stock.ts';
import { type FleetTermsOptions, readTerms } from './terms.ts';
import { Watch } from './watch.ts';

/** Options of {@link FleetSpender.attach}. */
export interface FleetSpenderOptions {
  /**
   * The source of the tokens, as in {@link FleetBucketOptions}, made in this thread. With it, this
   * thread takes over the buying if the thread that buys ends or is blocked.
   */
  readonly source?: TokenSource;
  /** Returns numbers from 0 to 1 that add jitter to the commands. Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * The stock of a `FleetBucket` as seen by any thread of its process. All calls work on shared
 * memory; none uses the network.
 *
 * The number of tokens `n` may be fractional, and 0 takes nothing. A negative, infinite or
 * non-numeric `n` throws. One call can never take more than the size of the stock.
 *
 * @example
 * ```ts
 * const spender = FleetSpender.attach(workerData.fleet);
 * if (spender.tryConsume()) serve();
 * await spender.wait(5, { timeoutMs: 1000 });
 * ```
 */
export class FleetSpender {
  /** The clock that timeouts are measured by. */
  readonly clock: Clock;
  /** @internal */
  protected readonly stock: Stock;
  /** Buys, if this thread has a source. */
  readonly #buyer: Buyer | undefined;
  readonly #waiters = new Waiters();
  readonly #watch: Watch;
  readonly #terms: FleetTermsOptions;

  /** @internal */
  protected constructor(
    stock: Stock,
    clock: Clock,
    terms: FleetTermsOptions,
    buyer: Buyer | undefined,
  ) {
    this.stock = stock;
    this.clock = clock;
    this.#terms = terms;
    this.#buyer = buyer;
    this.#watch = new Watch(stock, () => this.#waiters.count);
    if (buyer === undefined) return;
    // Those who began to wait while this thread bought are not watched for yet.
    buyer.onOut = () => {
      if (this.#waiters.count > 0) this.#watch.start();
    };
  }

  /**
   * Attaches this thread to the stock of its process.
   *
   * @throws HandleError if it is not a fleet bucket's handle, or its memory is damaged.
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  static attach(handle: FleetHandle, options: FleetSpenderOptions = {}): FleetSpender {
    const { source, random = Math.random } = checkOptions(options, { source: true, random: true });
    const read = readFields("a fleet bucket's handle", handle, 'clock', 'terms');
    const terms = readTerms(read.terms);
    const given = read.terms as FleetTermsOptions; // as readTerms has checked
    const stock = Stock.open(handle);
    // attachClock validates the handle.
    const clock = attachClock(read.clock as ClockHandle);
    if (source === undefined) return new FleetSpender(stock, clock, given, undefined);
    const buyer = new Buyer({ stock, source: checkSource(source), terms, clock, random });
    buyer.stand();
    return new FleetSpender(stock, clock, given, buyer);
  }

  /** Send it to another thread of this process and pass it to `FleetSpender.attach` there. */
  get handle(): FleetHandle {
    return { ...this.stock.handle, clock: this.clock.handle, terms: this.#terms };
  }

  /** The size of the stock: the largest number of tokens that one call can take. */
  get limit(): number {
    return this.stock.bucket.limit;
  }

  /** Takes `n` tokens from the stock and returns true, or takes nothing and returns false. */
  tryConsume(n = 1): boolean {
    if (this.stock.take(n)) return true;
    this.#lookAfterBuyer();
    return false;
  }

  /** Takes as many whole tokens as the stock holds, at most `n`, and returns how many. */
  consumeOrDrain(n: number): number {
    const taken = this.stock.drain(n);
    if (taken === 0) this.#lookAfterBuyer();
    return taken;
  }

  /** A caller has too few tokens: if the buyer is in another thread, that may have ended. */
  #lookAfterBuyer(): void {
    if (this.#buyer === undefined || !this.#buyer.isInOffice) this.#watch.start();
  }

  #closed(): RateLimitError {
    const options = this.#buyer?.failure && { cause: this.#buyer.failure.reason };
    return new RateLimitError('ERR_FLEET_CLOSED', 'the fleet bucket is closed', options);
  }

  /**
   * Resolves when `n` tokens are available to this caller. Callers of all threads are served in
   * order of arrival. The wait keeps the event loop alive. After an abort or a timeout, the tokens
   * go to the callers behind.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` after `timeoutMs`, never earlier, because the
   * time of the next purchase is unknown; `ERR_EXCEEDS_BURST` if `n` exceeds the size of the stock;
   * `ERR_QUEUE_FULL` if the stock has too few tokens and `maxWaiting` callers of this object wait
   * already; `ERR_FLEET_CLOSED` when the fleet bucket is closed, or its buyer has ended and no thread
   * with a source takes over, within 2 s.
   */
  async wait(n = 1, options: Omit<WaitOptions, 'strict'> = {}): Promise<Waited> {
    checkTokens('n', n);
    const { timeoutMs, maxWaiting, signal } = checkWait(options);
    signal?.throwIfAborted();
    if (this.stock.isClosed) throw this.#closed();
    if (this.tryConsume(n)) return AT_ONCE;
    if (this.#waiters.count >= maxWaiting) throw queueFull(maxWaiting);
    const sinceUs = this.clock.now();
    this.#waiters.enter();
    this.#lookAfterBuyer();
    try {
      await this.#delivery(n, timeoutMs, signal);
    } finally {
      this.#waiters.leave();
    }
    return waitedSince(this.clock, sinceUs);
  }

  /** The callers now waiting in `wait` on this object. Those of other threads do not count. */
  get waiting(): number {
    return this.#waiters.count;
  }

  async #delivery(n: number, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    const reservation = this.stock.reserve(n);
    try {
      // close() woke only the reservations made before it.
      if (!this.stock.isClosed) await this.#arrival(reservation, n, timeoutMs, signal);
    } catch (reason) {
      this.#leaveLine(reservation, n);
      throw reason;
    }
    if (this.stock.isClosed) throw this.#closed();
  }

  async #arrival(
    reservation: Reservation,
    n: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const end = new AbortController();
    const unlink = onAbort(signal, (reason) => end.abort(reason));
    const deadlineUs = this.clock.now() + timeoutMs * 1000;
    const cancel = onInstant(this.clock, deadlineUs, () => end.abort(timedOut(n, timeoutMs)));
    try {
      await this.stock.arrival(reservation, { signal: end.signal });
    } finally {
      unlink();
      cancel();
    }
  }

  #leaveLine(reservation: Reservation, n: number): void {
    if (reservation.cancel()) return;
    // Later callers queue behind this reservation: pass its tokens on, but only once they arrive. If
    // nothing else keeps the thread alive until then, they are lost with it.
    const { stock } = this;
    stock.arrival(reservation, { ref: false }).then(() => stock.deliver(n));
  }

  /**
   * Returns unused tokens to the stock, where they can be taken again. Return only tokens that you
   * took and did not use.
   */
  returnTokens(n: number): void {
    this.stock.deliver(checkTokens('n', n));
  }

  /** Whether the fleet bucket is closed: no call gets tokens any more. */
  get isClosed(): boolean {
    return this.stock.isClosed;
  }

  /**
   * Ends the buying in this thread for good, if it has a source. Another thread with a source takes
   * over at once; if there is none, the fleet bucket is closed within 2 s if callers wait for tokens.
   * Resolves when what was on order has gone back, or lapsed. Calls on this object go on as before.
   */
  async standDown(): Promise<void> {
    await this.#buyer?.standDown();
  }

  /** Tokens that can be taken now, fractions included. */
  available(): number {
    return this.stock.isClosed ? 0 : Math.max(0, this.stock.balance);
  }
}
