import { RateLimitError } from '../../../errors.ts';
import type { WaitOptions } from '../../../limiters/limiter.ts';
import type { Reservation } from '../../../limiters/reservation.ts';
import { checkWait, timedOut } from '../../../limiters/waiting.ts';
import { readFields } from '../../../memory/read-fields.ts';
import { checkTokens } from '../../../options.ts';
import { attachClock } from '../../../time/attach-clock.ts';
import type { Clock, ClockHandle } from '../../../time/clock.ts';
import { onAbort } from '../../../time/on-abort.ts';
import { onInstant } from '../../../time/on-instant.ts';
import { type FleetHandle, Stock } from './stock.ts';

function closed(): RateLimitError {
  return new RateLimitError('ERR_FLEET_CLOSED', 'the fleet bucket is closed');
}

/**
 * What any thread of a process can do with the process's stock of a `FleetBucket`. All of it is
 * done in shared memory; no call uses the network.
 *
 * A number of tokens `n` may have a fraction; 0 takes nothing; a negative, infinite or non-number
 * `n` throws RangeError or TypeError. More than the stock's size can never be taken at once.
 *
 * @example
 * ```ts
 * const spender = FleetSpender.attach(workerData.fleet);
 * if (spender.tryConsume()) serve();
 * await spender.wait(5, { timeoutMs: 1000 });
 * ```
 */
export class FleetSpender {
  /** What timeouts are measured by. */
  readonly clock: Clock;
  /** @internal */
  protected readonly stock: Stock;

  /** @internal */
  protected constructor(stock: Stock, clock: Clock) {
    this.stock = stock;
    this.clock = clock;
  }

  /**
   * Attaches this thread to the stock of its process.
   *
   * @throws HandleError if it is no fleet bucket's handle, or its memory is damaged.
   */
  static attach(handle: FleetHandle): FleetSpender {
    const { clock } = readFields("a fleet bucket's handle", handle, 'clock');
    // What it is, attachClock checks.
    return new FleetSpender(Stock.open(handle), attachClock(clock as ClockHandle));
  }

  /** Attaches another thread of this process: send it there, and give it to `FleetSpender.attach`. */
  get handle(): FleetHandle {
    return { ...this.stock.handle, clock: this.clock.handle };
  }

  /** The most tokens that the process holds, and so the most that can be taken at once. */
  get limit(): number {
    return this.stock.bucket.limit;
  }

  /** Takes `n` tokens from the stock, or none. */
  tryConsume(n = 1): boolean {
    return this.stock.take(n);
  }

  /** Takes as many whole tokens as the stock holds, at most `n`, and returns how many. */
  consumeOrDrain(n: number): number {
    return this.stock.drain(n);
  }

  /**
   * Resolves when `n` tokens are there for this caller. Callers of all threads are served in the order
   * in which they asked. The wait keeps the event loop alive. After an abort or a timeout the tokens go
   * to those who stand behind.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` after `timeoutMs`: when tokens will come is not
   * known in advance; `ERR_EXCEEDS_BURST` if the stock can never hold `n` tokens; `ERR_FLEET_CLOSED`
   * when the fleet bucket is closed.
   */
  async wait(n = 1, options: Omit<WaitOptions, 'strict'> = {}): Promise<void> {
    checkTokens('n', n);
    const { timeoutMs, signal } = checkWait(options);
    signal?.throwIfAborted();
    if (this.stock.isClosed) throw closed();
    if (this.tryConsume(n)) return;
    const reservation = this.stock.reserve(n);
    try {
      // A stock that is closed meanwhile has woken only those who were in line.
      if (!this.stock.isClosed) await this.#arrival(reservation, n, timeoutMs, signal);
    } catch (reason) {
      this.#leaveLine(reservation, n);
      throw reason;
    }
    if (this.stock.isClosed) throw closed();
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
      await this.stock.arrival(reservation, end.signal);
    } finally {
      unlink();
      cancel();
    }
  }

  #leaveLine(reservation: Reservation, n: number): void {
    if (reservation.cancel()) return;
    // Others stand behind: its tokens go on to them when they come, and not before.
    const { stock } = this;
    stock.arrival(reservation).then(() => stock.deliver(n));
  }

  /**
   * Gives back tokens that were taken and not used; they can be taken once more. What was used, or
   * never taken, must not be returned.
   */
  returnTokens(n: number): void {
    this.stock.deliver(checkTokens('n', n));
  }

  /** Tokens that can be taken now, fractions included. */
  available(): number {
    return this.stock.isClosed ? 0 : Math.max(0, this.stock.balance);
  }
}
