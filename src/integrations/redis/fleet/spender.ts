import { RateLimitError } from '../../../errors.ts';
import { checkOptions } from '../../../known-options.ts';
import type { Waited, WaitOptions } from '../../../limiters/limiter.ts';
import type { Reservation } from '../../../limiters/reservation.ts';
import { Described, type Description } from '../../../limiters/state.ts';
import {
  AT_ONCE,
  checkWait,
  queueFull,
  timedOut,
  type Wait,
  Waiters,
  waitedSince,
} from '../../../limiters/waiting.ts';
import { readFields } from '../../../memory/handle.ts';
import { checkFunction, checkMade, checkTokens } from '../../../options.ts';
import { onInstant } from '../../../time/agenda.ts';
import { attachClock } from '../../../time/attach-clock.ts';
import type { Clock, ClockHandle } from '../../../time/clock.ts';
import { onAbort } from '../../../time/on-abort.ts';
import { Buyer } from './buyer.ts';
import type { FleetHandle } from './cell.ts';
import { Stock } from './stock.ts';
import { checkSource, type TokenSource } from './token-source.ts';
import { Watch } from './watch.ts';

/** The options that end a wait early. */
type Bounds = Pick<Wait, 'timeoutMs' | 'signal'>;

/** Options of {@link FleetSpender.attach}. */
export interface FleetSpenderOptions {
  /**
   * The source of tokens, as in {@link FleetBucketOptions}, created in this thread. With it, this
   * thread takes over if the buyer's thread ends or blocks.
   */
  readonly source?: TokenSource;
  /** Returns numbers from 0 to 1, for jitter between commands. Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * A thread's access to the stock of its process's `FleetBucket`. All calls work on shared memory,
 * without the network.
 *
 * `n` may be fractional; 0 takes nothing. A negative, infinite or non-numeric `n` throws. One call
 * can't take more than the size of the stock.
 *
 * @example
 * ```ts
 * const spender = FleetSpender.attach(workerData.fleet);
 * if (spender.tryConsume()) serve();
 * await spender.wait(5, { timeoutMs: 1000 });
 * ```
 */
export class FleetSpender extends Described {
  /** The clock of timeouts. */
  readonly clock: Clock;
  /** @internal */
  protected readonly stock: Stock;
  /** The buyer of this thread, if it has a source. */
  readonly #buyer: Buyer | undefined;
  readonly #waiters = new Waiters();
  readonly #watch: Watch;
  /** Those of the pending waits. */
  readonly #ends = new Set<AbortController>();
  #hasLeft = false;

  /** @internal */
  protected constructor(stock: Stock, clock: Clock, buyer: Buyer | undefined) {
    super();
    this.stock = checkMade(new.target, stock, 'bucket', 'FleetSpender.attach(handle)');
    this.clock = clock;
    this.#buyer = buyer;
    const giveUp = () => (stock.hasName ? this.#endWaits() : stock.closeVacant());
    this.#watch = new Watch(stock, () => this.#waiters.count, giveUp);
    if (buyer === undefined) return;
    // Callers that started to wait while this thread was buying are not watched yet.
    buyer.onOut = () => {
      if (this.#waiters.count > 0) this.#watch.start();
    };
  }

  /**
   * Attaches this thread to the stock of its process.
   *
   * @throws HandleError if `handle` is not a fleet bucket's, or its memory is damaged.
   * @throws RangeError, TypeError for an invalid option.
   */
  static attach(handle: FleetHandle, options: FleetSpenderOptions = {}): FleetSpender {
    const { source, random = Math.random } = checkOptions(options, { source: true, random: true });
    checkFunction('random', random);
    const read = readFields("a fleet bucket's handle", handle, 'clock');
    const stock = Stock.open(handle);
    // attachClock validates the handle.
    const clock = attachClock(read.clock as ClockHandle, stock.region);
    if (source === undefined) return new FleetSpender(stock, clock, undefined);
    const buyer = new Buyer(stock, checkSource(source), clock, random);
    buyer.stand();
    return new FleetSpender(stock, clock, buyer);
  }

  /** A handle to send to other threads, for `FleetSpender.attach`. */
  get handle(): FleetHandle {
    return { ...this.stock.handle, clock: this.clock.handle };
  }

  /** The size of the stock: the maximum that one call can take. */
  get limit(): number {
    return this.stock.bucket.limit;
  }

  /** Takes `n` tokens from the stock and returns true, or takes nothing and returns false. */
  tryConsume(n = 1): boolean {
    if (this.#isOut(n)) return false;
    if (this.stock.take(n)) return true;
    this.#lookAfterBuyer();
    return false;
  }

  /** Takes as many whole tokens as the stock holds, up to `n`, and returns their number. */
  consumeOrDrain(n: number): number {
    if (this.#isOut(n)) return 0;
    const taken = this.stock.drain(n);
    if (taken === 0) this.#lookAfterBuyer();
    return taken;
  }

  /** Whether this object gets no more tokens of an open stock, which would check `n`. */
  #isOut(n: number): boolean {
    if (!this.#hasLeft && !this.stock.hasLeft) return false;
    checkTokens('n', n);
    return true;
  }

  /** Call when a caller has too few tokens: the buyer's thread may have ended. */
  #lookAfterBuyer(): void {
    if (this.#buyer === undefined || !this.#buyer.isLeader) this.#watch.start();
  }

  #closed(): RateLimitError {
    const options = this.#buyer?.failure && { cause: this.#buyer.failure.reason };
    const reason = this.isClosed ? 'is closed' : 'has no buyer';
    return new RateLimitError('ERR_FLEET_CLOSED', `the fleet bucket ${reason}`, options);
  }

  /** Rejects all pending waits, the last first: only the last reservation can be cancelled. */
  #endWaits(): void {
    const reason = this.#closed();
    for (const end of [...this.#ends].reverse()) end.abort(reason);
  }

  /** Closes this object only; the stock stays open for others. @internal */
  protected leave(): void {
    this.#hasLeft = true;
    this.#endWaits();
  }

  /**
   * Resolves when `n` tokens are available to this caller. Callers of all threads are served in
   * order of arrival. The wait keeps the event loop alive. After an abort or a timeout, the tokens
   * go to the next callers.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` after `timeoutMs`, never earlier, because the
   *   next purchase is unpredictable, with the source's error as `cause` if this thread buys and the
   *   source is unreachable; `ERR_EXCEEDS_BURST` if `n` exceeds the size of the stock;
   *   `ERR_QUEUE_FULL` if the stock has too few tokens and `maxWaiting` callers of this object
   *   already wait; `ERR_FLEET_CLOSED` when the fleet bucket is closed, or within 2 s if its buyer
   *   has ended and no other thread with a source takes over.
   */
  async wait(n = 1, options: Omit<WaitOptions, 'strict'> = {}): Promise<Waited> {
    checkTokens('n', n);
    const { timeoutMs, maxWaiting, signal } = checkWait(options);
    signal?.throwIfAborted();
    if (this.isClosed) throw this.#closed();
    if (this.tryConsume(n)) return AT_ONCE;
    if (this.#waiters.count >= maxWaiting) throw queueFull(maxWaiting);
    const sinceUs = this.clock.now();
    this.#waiters.enter();
    this.#lookAfterBuyer();
    try {
      await this.#delivery(n, { timeoutMs, signal });
    } finally {
      this.#waiters.leave();
    }
    return waitedSince(this.clock, sinceUs);
  }

  /** Callers waiting in `wait` on this object, without those of other threads. */
  get waiting(): number {
    return this.#waiters.count;
  }

  async #delivery(n: number, bounds: Bounds): Promise<void> {
    const reservation = this.stock.reserve(n);
    try {
      // close() has only woken earlier reservations.
      if (!this.stock.isClosed) await this.#arrival(reservation, n, bounds);
    } catch (reason) {
      this.stock.abandon(reservation, n);
      throw reason;
    }
    if (!this.stock.accept(n) || this.stock.isClosed) throw this.#closed();
  }

  /** Resolves when the `n` tokens of a reservation have arrived. */
  async #arrival(
    reservation: Reservation,
    n: number,
    { timeoutMs, signal }: Bounds,
  ): Promise<void> {
    const end = new AbortController();
    const deadlineUs = this.clock.now() + timeoutMs * 1000;
    const late = () => {
      const cause = this.#buyer?.purchases.failure;
      end.abort(timedOut(n, timeoutMs, cause === undefined ? undefined : { cause }));
    };
    // The clock may be the user's, and throw.
    const cancel = onInstant(this.clock, deadlineUs, late);
    const unlink = onAbort(signal, (reason) => end.abort(reason));
    this.#ends.add(end);
    try {
      await this.stock.arrival(reservation, { signal: end.signal });
    } finally {
      this.#ends.delete(end);
      unlink();
      cancel();
    }
  }

  /** Returns unused tokens to the stock. Only return tokens that you took and did not use. */
  returnTokens(n: number): void {
    this.stock.deliver(checkTokens('n', n));
  }

  /** Whether the fleet bucket is closed and calls get no more tokens. */
  get isClosed(): boolean {
    return this.#hasLeft || this.stock.isClosed;
  }

  /**
   * Ends the buying in this thread for good, if it has a source. Another thread with a source takes
   * over at once; without one, the fleet bucket is closed within 2 s if callers wait for tokens; of
   * one that was opened by name, only the waits reject. Resolves when queued purchases have been
   * returned or have lapsed. Other calls continue to work.
   */
  async standDown(): Promise<void> {
    await this.#buyer?.standDown();
  }

  /** Tokens available now, fractions included. */
  available(): number {
    return this.isClosed ? 0 : Math.max(0, this.stock.balance);
  }

  /** @internal */
  protected describe(): Description {
    return ['FleetSpender', { stock: this.limit, tokens: this.available() }];
  }
}
