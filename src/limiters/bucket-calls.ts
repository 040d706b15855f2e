import { LATER } from '../kernel/bucket/kernel.ts';
import { checkOptions } from '../known-options.ts';
import { checkSpanMs, checkTokens } from '../options.ts';
import type { Precision, SleepOptions } from '../time/clock.ts';
import { sleepOrWake } from '../time/sleep-or-wake.ts';
import { BucketTakes } from './bucket-takes.ts';
import type { BlockingWaitOptions, Waited, WaitOptions } from './limiter.ts';
import type { Part } from './part.ts';
import { Reservation } from './reservation.ts';
import {
  AT_ONCE,
  checkWait,
  exceeds,
  queueFull,
  timedOut,
  type WaitCount,
  Waiters,
  waitedSince,
} from './waiting.ts';

function deadlineOf({ askedUs }: Reservation, timeoutMs: number): number {
  return askedUs + timeoutMs * 1000;
}

/** The return value of `acquire` when it refuses. */
export const REFUSED = -1;

/**
 * The methods common to all buckets. `n` may be fractional and defaults to 1; 0 is always admitted
 * and takes nothing. A negative or infinite `n` throws a RangeError, a non-numeric one a TypeError.
 */
export abstract class BucketCalls extends BucketTakes implements Part {
  readonly #waiters = new Waiters();

  /**
   * Takes `n` tokens if they are due within `maxWaitMs`, and returns the milliseconds to wait
   * before acting: 0 if they are available now, Infinity while the bucket is paused. Otherwise
   * takes nothing and returns {@link REFUSED}. The other calls are built on this one.
   *
   * `maxWaitMs` is a number >= 0. By default there is no maximum, so the bucket may go into debt:
   * if you act at once, later callers wait until it is paid back. A wait of more than 4.4 years is
   * always refused.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): number {
    checkTokens('n', n);
    checkSpanMs('maxWaitMs', maxWaitMs);
    const waitUs = this.seek().acquire(this.clock.now(), n, maxWaitMs * 1000);
    return waitUs < 0 ? this.#refused(n, waitUs) : waitUs / 1000;
  }

  #refused(n: number, waitUs: number): typeof REFUSED {
    if (waitUs === LATER) return REFUSED;
    throw exceeds(n, this.limit);
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs` (default `Infinity`) and returns a
   * reservation: act at its instant. Otherwise takes nothing and returns undefined.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  reserve(n = 1, options: { readonly maxWaitMs?: number } = {}): Reservation | undefined {
    checkTokens('n', n);
    const { maxWaitMs = Number.POSITIVE_INFINITY } = checkOptions(options, { maxWaitMs: true });
    return this.#reserve(n, checkSpanMs('maxWaitMs', maxWaitMs));
  }

  #reserve(n: number, maxWaitMs: number): Reservation | undefined {
    const kernel = this.seek();
    const nowUs = this.clock.now();
    const waitUs = kernel.acquire(nowUs, n, maxWaitMs * 1000);
    if (waitUs >= 0) return this.reservation(n, nowUs, waitUs);
    this.#refused(n, waitUs);
    return undefined;
  }

  /** The reservation of this thread's latest admission. @internal */
  protected reservation(n: number, nowUs: number, waitUs: number): Reservation {
    return new Reservation({ kernel: this.seek(), n, nowUs, waitUs, owner: this });
  }

  /**
   * Waits until `n` tokens are available for this caller. Callers are served in order, so a large
   * request does not starve. The wait keeps the event loop alive. On abort the tokens are returned
   * if no other call has taken tokens since.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` as soon as the wait would exceed `timeoutMs`;
   * `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens; `ERR_QUEUE_FULL` if it would have
   * to wait and `maxWaiting` callers already do. In each case nothing is taken.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    checkTokens('n', n);
    const wait = checkWait(options);
    wait.signal?.throwIfAborted();
    const { waiters } = this;
    const isFull = waiters.count >= wait.maxWaiting;
    const reservation = this.#reserve(n, isFull ? 0 : wait.timeoutMs);
    if (reservation?.waitMs === 0) return AT_ONCE;
    if (isFull) throw queueFull(wait.maxWaiting);
    if (reservation === undefined) throw timedOut(n, wait.timeoutMs);
    const { timeoutMs } = wait;
    const deadlineUs = deadlineOf(reservation, timeoutMs);
    waiters.enter();
    try {
      if (!(await this.sleepUntilDue(reservation, deadlineUs, wait))) {
        throw timedOut(n, timeoutMs);
      }
    } catch (error) {
      reservation.cancel();
      throw error;
    } finally {
      waiters.leave();
    }
    return waitedSince(this.clock, reservation.askedUs);
  }

  /** Counts the callers waiting for this bucket. @internal */
  protected get waiters(): WaitCount {
    return this.#waiters;
  }

  /** Number of callers waiting in `wait` on this object. Other threads are not counted. */
  get waiting(): number {
    return this.waiters.count;
  }

  /**
   * Sleeps until a reservation is due; false if a change of the limit moved it past the deadline.
   * @internal
   */
  protected async sleepUntilDue(
    { atUs }: Reservation,
    _deadlineUs: number,
    options: SleepOptions,
  ): Promise<boolean> {
    await sleepOrWake(this.clock, atUs, options);
    return true;
  }

  /** {@link sleepUntilDue}, blocking the thread. @internal */
  protected sleepUntilDueSync(
    { atUs }: Reservation,
    _deadlineUs: number,
    { strict, precise }: Precision,
  ): boolean {
    this.clock.sleepSync(atUs, { strict, precise });
    return true;
  }

  /**
   * Blocks the thread until `n` tokens are available for this caller, then returns true. Returns
   * false at once, taking nothing, if the wait would exceed `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  waitSync(n = 1, options: BlockingWaitOptions = {}): boolean {
    checkTokens('n', n);
    const wait = checkWait(options);
    const { timeoutMs } = wait;
    const reservation = this.#reserve(n, timeoutMs);
    if (reservation === undefined) return false;
    if (reservation.waitMs === 0) return true;
    let isDue = false;
    try {
      isDue = this.sleepUntilDueSync(reservation, deadlineOf(reservation, timeoutMs), wait);
    } finally {
      // The limit changed, or this thread cannot block.
      if (!isDue) reservation.cancel();
    }
    return isDue;
  }
}
