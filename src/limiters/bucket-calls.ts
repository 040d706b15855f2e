import { LATER, type TokenKernel } from '../kernel/bucket/kernel.ts';
import { checkObject, checkSpanMs, checkTokens } from '../options.ts';
import type { Clock, SleepOptions } from '../time/clock.ts';
import { type Decision, decisionOf } from './decision.ts';
import type { Grant, Limiter, WaitOptions } from './limiter.ts';
import { Reservation } from './reservation.ts';
import { checkWait, exceeds, timedOut } from './waiting.ts';

/** The latest end of a wait: the promised instant plus what is left of the timeout. */
function deadlineOf({ atUs, waitMs }: Reservation, timeoutMs: number): number {
  return atUs + (timeoutMs - waitMs) * 1000;
}

/** The return value of `acquire` when it refuses. */
export const REFUSED = -1;

/**
 * The methods common to all buckets. `n` may be fractional and defaults to 1; 0 is always admitted
 * and takes nothing. A negative or infinite `n` throws a RangeError, a non-numeric one a TypeError.
 */
export abstract class BucketCalls implements Limiter {
  /** The clock, the same one for all threads of this limiter. */
  readonly clock: Clock;
  /** Returns the kernel, pointed at this bucket. Called once per call. @internal */
  protected abstract seek(): TokenKernel;

  protected constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The current rate, in tokens per second. */
  get rate(): number {
    return this.seek().schedule().rate;
  }

  /** The burst: the largest number of tokens in the bucket, and the most that one call can take. */
  get limit(): number {
    return this.seek().schedule().burst;
  }

  /** Takes `n` tokens now, or none. */
  tryConsume(n = 1): boolean {
    checkTokens('n', n);
    return this.seek().acquire(this.clock.now(), n, 0) === 0;
  }

  /** @internal */
  take(n: number): Grant | undefined {
    checkTokens('n', n);
    const kernel = this.seek();
    const nowUs = this.clock.now();
    if (kernel.acquire(nowUs, n, 0) !== 0) return undefined;
    return new Reservation(kernel, kernel.receipt(), nowUs, 0);
  }

  /** Takes as many whole tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(n: number): number {
    checkTokens('n', n);
    return this.seek().drain(this.clock.now(), n);
  }

  /** Takes `n` tokens now or none, and reports the state of the limiter. */
  decide(n = 1): Decision {
    checkTokens('n', n);
    return decisionOf(this.seek().decide(this.clock.now(), n));
  }

  /**
   * Takes `n` tokens if they are due within `maxWaitMs`, and returns the milliseconds to wait
   * before acting: 0 if they are available now. Otherwise takes nothing and returns
   * {@link REFUSED}. The other calls are built on this one.
   *
   * `maxWaitMs` is a number >= 0. By default there is no maximum, so the bucket may go into debt:
   * if you act at once, later callers wait until it is paid back. A wait of more than 4.4 years is
   * always refused.
   */
  acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): number {
    checkTokens('n', n);
    checkSpanMs('maxWaitMs', maxWaitMs);
    const waitUs = this.seek().acquire(this.clock.now(), n, maxWaitMs * 1000);
    return waitUs < 0 ? REFUSED : waitUs / 1000;
  }

  /**
   * Takes `n` tokens that are due within `maxWaitMs` (default `Infinity`) and returns a
   * reservation: act at the instant it names. Returns undefined, and takes nothing, if they are due
   * later.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  reserve(n = 1, options: { readonly maxWaitMs?: number } = {}): Reservation | undefined {
    checkTokens('n', n);
    const { maxWaitMs = Number.POSITIVE_INFINITY } = checkObject('options', options);
    return this.#reserve(n, checkSpanMs('maxWaitMs', maxWaitMs));
  }

  #reserve(n: number, maxWaitMs: number): Reservation | undefined {
    const kernel = this.seek();
    const nowUs = this.clock.now();
    const waitUs = kernel.acquire(nowUs, n, maxWaitMs * 1000);
    if (waitUs >= 0) return this.reservation(nowUs, waitUs);
    if (waitUs === LATER) return undefined;
    throw exceeds(n, kernel.schedule().burst);
  }

  /** The reservation for this thread's latest take. @internal */
  protected reservation(nowUs: number, waitUs: number): Reservation {
    const kernel = this.seek();
    return new Reservation(kernel, kernel.receipt(), nowUs, waitUs);
  }

  /**
   * Waits until `n` tokens are available for this caller. Callers are served in order, so a large
   * request does not starve. The wait keeps the event loop alive. On abort the tokens are returned
   * if no other call has taken tokens since.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT`, at once and taking nothing, if the wait would
   * exceed `timeoutMs`; `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<void> {
    checkTokens('n', n);
    const { timeoutMs, signal, strict } = checkWait(options);
    signal?.throwIfAborted();
    const reservation = this.#reserve(n, timeoutMs);
    if (reservation === undefined) throw timedOut(n, timeoutMs);
    if (reservation.waitMs === 0) return;
    try {
      if (
        await this.sleepUntilDue(reservation, deadlineOf(reservation, timeoutMs), {
          strict,
          signal,
        })
      )
        return;
    } catch (error) {
      reservation.cancel();
      throw error;
    }
    reservation.cancel();
    throw timedOut(n, timeoutMs);
  }

  /**
   * Sleeps until a reservation is due; false if a change of the limit moved that past the deadline.
   * @internal
   */
  protected async sleepUntilDue(
    { atUs }: Reservation,
    _deadlineUs: number,
    options: SleepOptions,
  ): Promise<boolean> {
    await this.clock.sleep(atUs, options);
    return true;
  }

  /** {@link sleepUntilDue}, blocking the thread. @internal */
  protected sleepUntilDueSync(
    { atUs }: Reservation,
    _deadlineUs: number,
    options: Pick<SleepOptions, 'strict'>,
  ): boolean {
    this.clock.sleepSync(atUs, options);
    return true;
  }

  /**
   * Blocks the thread until `n` tokens are available for this caller, then returns true. Returns
   * false at once, taking nothing, if the wait would exceed `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  waitSync(n = 1, options: Omit<WaitOptions, 'signal'> = {}): boolean {
    checkTokens('n', n);
    const { timeoutMs, strict } = checkWait(options);
    const reservation = this.#reserve(n, timeoutMs);
    if (reservation === undefined) return false;
    if (reservation.waitMs === 0) return true;
    if (this.sleepUntilDueSync(reservation, deadlineOf(reservation, timeoutMs), { strict }))
      return true;
    reservation.cancel();
    return false;
  }

  /**
   * Returns tokens that you took and did not use; the bucket never holds more than the burst. Never
   * return tokens that were used or never taken: they would be admitted on top of the limit.
   */
  returnTokens(n: number): void {
    checkTokens('n', n);
    this.seek().returnTokens(this.clock.now(), n);
  }

  /** Returns the tokens that can be taken now: {@link balance}, or 0 in debt. */
  available(): number {
    return Math.max(0, this.balance());
  }

  /** Returns the tokens in the bucket: negative in debt, Infinity if unlimited. */
  balance(): number {
    return this.seek().balance(this.clock.now());
  }

  /**
   * Returns the milliseconds until the bucket holds `tokens` if no one takes any: 0 if it does now,
   * Infinity if it never will.
   */
  timeUntil(tokens: number): number {
    checkTokens('tokens', tokens);
    return this.seek().timeUntil(this.clock.now(), tokens) / 1000;
  }
}
