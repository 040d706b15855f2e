import {
  type BucketKernel,
  LATER,
  type Receipt,
  type TokenKernel,
} from '../kernel/bucket/kernel.ts';
import { checkOptions, type Known } from '../known-options.ts';
import type { SharedEvent } from '../memory/event.ts';
import { checkSpanMs, checkTokens } from '../options.ts';
import type { Precision, SleepOptions } from '../time/clock.ts';
import type { BlockingWaitOptions, Part, Takeback, Waited, WaitOptions } from './limiter.ts';
import { refused } from './refused.ts';
import { Reservation } from './reservation.ts';
import { TokenCalls } from './token-calls.ts';
import {
  AT_ONCE,
  announce,
  BLOCKING_WAIT,
  checkWait,
  exceeds,
  queueFull,
  sleepOrLook,
  timedOut,
  type Waiters,
  waitedSince,
} from './waiting.ts';

function deadlineOf({ askedUs }: Reservation, timeoutMs: number): number {
  return askedUs + timeoutMs * 1000;
}

/** Options of `reserve`. */
export interface ReserveOptions {
  /** The longest wait in milliseconds until the tokens are due. Default `Infinity`. */
  readonly maxWaitMs?: number;
}

export const RESERVE: Known<ReserveOptions> = { maxWaitMs: true };

/** The return value of `acquire` when it refuses. */
export const REFUSED = -1;

/**
 * The methods common to all buckets. `n` may be fractional and defaults to 1; 0 is always admitted
 * and takes nothing. A negative or infinite `n` throws a RangeError, a non-numeric one a TypeError.
 */
export abstract class BucketCalls extends TokenCalls implements Part {
  /** Fires when the limit changes. @internal */
  abstract readonly changes: SharedEvent;
  /** @internal */
  abstract readonly at: Part['at'];
  /** Counts the waiting callers, of each key if there are several. @internal */
  protected abstract readonly waiters: Waiters;
  /** The key under which {@link waiters} counts those of this bucket. @internal */
  protected get counted(): string {
    return '';
  }
  /** @internal */
  protected abstract override seek(): TokenKernel & Pick<BucketKernel, 'position'>;

  /** @internal */
  protected override check(name: string, n: unknown): number {
    return checkTokens(name, n);
  }

  /** @internal */
  get takeback(): Takeback {
    return 'any';
  }

  /** @internal */
  receipt(): Receipt {
    return this.seek().receipt();
  }

  /** @internal */
  giveBack(n: number, receipt?: Receipt): void {
    const kernel = this.seek();
    if (receipt !== undefined && kernel.cancel(receipt)) return;
    const nowUs = this.clock.now();
    // In debt, a return would give a later caller the instant of an earlier one.
    if (kernel.balance(nowUs) >= 0) kernel.returnTokens(nowUs, n);
  }

  /** The state to describe. @internal */
  protected contents(): { readonly tokens: number; readonly debt: number | undefined } {
    const balance = this.balance();
    return { tokens: Math.max(0, balance), debt: balance < 0 ? -balance : undefined };
  }

  /** The current rate, in tokens per second. */
  get rate(): number {
    return this.seek().schedule().rate;
  }

  /**
   * Corrects an estimate: charges the difference if `actual` is above `estimated`, returns it if
   * below. Returns the milliseconds until the bucket is out of debt, 0 after a return.
   *
   * @example
   * ```ts
   * const bucket = TokenBucket.create({ rate: 1000, burst: 60_000 });
   * if (bucket.tryConsume(4000)) bucket.settle(4000, 2600);
   * ```
   * @throws RangeError, TypeError as {@link charge} does, naming `estimated` or `actual`.
   */
  settle(estimated: number, actual: number): number {
    checkTokens('estimated', estimated);
    checkTokens('actual', actual);
    if (actual >= estimated) return this.charge(actual - estimated);
    this.returnTokens(estimated - actual);
    return 0;
  }

  /**
   * Returns tokens that you took and did not use; the bucket never holds more than the burst.
   * Waiting callers move up in order, except those of a key with one limit. Never return tokens that
   * were used or never taken: they would be admitted on top of the limit.
   */
  returnTokens(n: number): void {
    checkTokens('n', n);
    if (this.seek().returnTokens(this.clock.now(), n)) announce(this);
  }

  /** Called when a reservation was cancelled; wakes nobody if the bucket is a key's. @internal */
  cancelled(): void {}

  /** Returns the tokens in the bucket: negative in debt, Infinity if unlimited. */
  balance(): number {
    return this.seek().balance(this.clock.now());
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs`, and returns the milliseconds to wait
   * before acting: 0 if they are available now, Infinity while the bucket is paused. Otherwise
   * takes nothing and returns {@link REFUSED}. The other calls are built on this one.
   *
   * `maxWaitMs` is a number >= 0. By default there is no maximum, so the bucket may go into debt:
   * if you act at once, later callers wait until it is paid back. A wait of more than 4.4 years
   * (8.9 for a key with one limit) is always refused.
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
    if (waitUs !== LATER) throw exceeds(n, this.limit);
    refused(this, n);
    return REFUSED;
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs` (default `Infinity`) and returns a
   * reservation: act at its instant. Otherwise takes nothing and returns undefined.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  reserve(n = 1, options: ReserveOptions = {}): Reservation | undefined {
    checkTokens('n', n);
    const { maxWaitMs = Number.POSITIVE_INFINITY } = checkOptions(options, RESERVE);
    return this.#reserve(n, checkSpanMs('maxWaitMs', maxWaitMs));
  }

  #reserve(n: number, maxWaitMs: number): Reservation | undefined {
    const { clock } = this;
    const kernel = this.seek();
    const nowUs = clock.now();
    const waitUs = kernel.acquire(nowUs, n, maxWaitMs * 1000);
    if (waitUs < 0) {
      this.#refused(n, waitUs);
      return undefined;
    }
    const position = waitUs > 0 ? kernel.position(nowUs + waitUs) : undefined;
    return new Reservation({ kernel, clock, n, nowUs, waitUs, position, owner: this });
  }

  /**
   * Waits until `n` tokens are available for this caller. Callers are served in order, so a large
   * request does not starve. The wait keeps the event loop alive. On abort the tokens are returned
   * if no other call has taken tokens since.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` as soon as the wait would exceed `timeoutMs`;
   * `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens; `ERR_QUEUE_FULL` if it would have
   * to wait and `maxWaiting` callers already do. In each case nothing is taken; but if the limit
   * changed meanwhile, so that the wait exceeds `timeoutMs`, what was taken lapses.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    checkTokens('n', n);
    const wait = checkWait(options);
    wait.signal?.throwIfAborted();
    const isFull = this.waiting >= wait.maxWaiting;
    const reservation = this.#reserve(n, isFull ? 0 : wait.timeoutMs);
    if (reservation?.waitMs === 0) return AT_ONCE;
    if (isFull) throw queueFull(wait.maxWaiting);
    if (reservation === undefined) throw timedOut(n, wait.timeoutMs);
    const { timeoutMs } = wait;
    const deadlineUs = deadlineOf(reservation, timeoutMs);
    const { waiters, counted } = this;
    waiters.enter(counted);
    try {
      if (!(await this.sleepUntilDue(reservation, deadlineUs, wait))) {
        refused(this, n);
        throw timedOut(n, timeoutMs);
      }
    } catch (error) {
      reservation.putBack();
      throw error;
    } finally {
      waiters.leave(counted);
    }
    return waitedSince(this.clock, reservation.askedUs);
  }

  /** Number of callers waiting in `wait` on this object. Other threads are not counted. */
  get waiting(): number {
    return this.waiters.of(this.counted);
  }

  /**
   * Sleeps until a reservation is due; false if a change of the limit moved it past the deadline.
   * @internal
   */
  protected abstract sleepUntilDue(
    reservation: Reservation,
    deadlineUs: number,
    options: SleepOptions,
  ): Promise<boolean>;

  /**
   * When a caller that waits has to look again; not after now if its tokens are due, or it has taken
   * others.
   * @internal
   */
  protected nextLookUs(reservation: Reservation, _nowUs: number): number {
    return reservation.dueUs;
  }

  /** {@link sleepUntilDue}, blocking the thread. */
  #sleepUntilDueSync(
    reservation: Reservation,
    deadlineUs: number,
    { strict, precise }: Precision,
  ): boolean {
    for (;;) {
      const event = this.changes.observe();
      // Read the clock first: tokens due by then stay due, whatever changes afterwards.
      const nowUs = this.clock.now();
      const lookUs = this.nextLookUs(reservation, nowUs);
      if (lookUs <= nowUs) return true;
      if (lookUs > deadlineUs) return false;
      sleepOrLook(this.clock, nowUs, lookUs, { strict, precise, event });
    }
  }

  /**
   * Blocks the thread until `n` tokens are available for this caller, then returns true. Returns
   * false at once, taking nothing, if the wait would exceed `timeoutMs`; after a change of the limit
   * as {@link wait}.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  waitSync(n = 1, options: BlockingWaitOptions = {}): boolean {
    checkTokens('n', n);
    const wait = checkWait(options, BLOCKING_WAIT);
    const { timeoutMs } = wait;
    const reservation = this.#reserve(n, timeoutMs);
    if (reservation === undefined) return false;
    if (reservation.waitMs === 0) return true;
    let isDue = false;
    try {
      isDue = this.#sleepUntilDueSync(reservation, deadlineOf(reservation, timeoutMs), wait);
    } finally {
      // The limit changed, or this thread cannot block.
      if (!isDue) reservation.putBack();
    }
    return isDue || refused(this, n);
  }
}
