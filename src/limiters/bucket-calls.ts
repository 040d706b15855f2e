import { LATER, type TokenKernel } from '../kernel/bucket/kernel.ts';
import { checkObject, checkSpanMs, checkTokens } from '../options.ts';
import type { Clock, SleepOptions } from '../time/clock.ts';
import { type Decision, decisionOf } from './decision.ts';
import type { Grant, Limiter, WaitOptions } from './limiter.ts';
import { Reservation } from './reservation.ts';
import { checkWait, exceeds, timedOut } from './waiting.ts';

/** The latest instant that a wait may end at: that which was promised, or later by what is left of the timeout. */
function deadlineOf({ atUs, waitMs }: Reservation, timeoutMs: number): number {
  return atUs + (timeoutMs - waitMs) * 1000;
}

/** What `acquire` returns for a refusal. */
export const REFUSED = -1;

/**
 * What can be done with the tokens of one bucket, whatever the limit is called and wherever the
 * bucket lies. Every number of tokens `n` may have a fraction; 0 is admitted and takes nothing; a
 * negative, infinite or non-number `n` throws RangeError or TypeError.
 */
export abstract class BucketCalls implements Limiter {
  /** The clock that every thread of this limiter reads. */
  readonly clock: Clock;
  /** Turns the kernel to this bucket: once for each call. @internal */
  protected abstract seek(): TokenKernel;

  protected constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The rate in force, in tokens per second. */
  get rate(): number {
    return this.seek().schedule().rate;
  }

  /** The most tokens that the bucket holds, and so the most that can be taken at once. */
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

  /** Takes as many whole tokens as there are, at most `n`, and returns how many. */
  consumeOrDrain(n: number): number {
    checkTokens('n', n);
    return this.seek().drain(this.clock.now(), n);
  }

  /** Takes `n` tokens now or none, and says how things stand. */
  decide(n = 1): Decision {
    checkTokens('n', n);
    return decisionOf(this.seek().decide(this.clock.now(), n));
  }

  /**
   * The loop itself: takes `n` tokens if they will be there within `maxWaitMs`, and returns the
   * milliseconds to wait before acting, 0 for now. Otherwise takes nothing and returns
   * {@link REFUSED}. Without a maximum it borrows: a caller who acts at once leaves the debt to
   * those who come after.
   *
   * A wait of more than 4.4 years is always refused.
   */
  acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): number {
    checkTokens('n', n);
    checkSpanMs('maxWaitMs', maxWaitMs);
    const waitUs = this.seek().acquire(this.clock.now(), n, maxWaitMs * 1000);
    return waitUs < 0 ? REFUSED : waitUs / 1000;
  }

  /**
   * Takes `n` tokens that will be there within `maxWaitMs` (default: at any time), to be used at
   * the instant that the reservation names. Returns undefined, and takes nothing, if they will not.
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

  /** Of what this thread took last. @internal */
  protected reservation(nowUs: number, waitUs: number): Reservation {
    const kernel = this.seek();
    return new Reservation(kernel, kernel.receipt(), nowUs, waitUs);
  }

  /**
   * Resolves when `n` tokens are there for this caller, never before. Callers are served in the
   * order in which they asked, so a large request does not starve. The wait keeps the event loop
   * alive. An abort gives the tokens back if no later call stands on them.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT`, at once and taking nothing, if the wait would
   * outlast `timeoutMs`; `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
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
   * Sleeps until the tokens of a reservation are there; false if a change of the limit has moved that
   * past the deadline. @internal
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
   * Blocks the thread until `n` tokens are there for this caller, and returns true; returns false
   * at once, and takes nothing, if that would outlast `timeoutMs`.
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
   * Gives back tokens that were taken and not used; the bucket never gets fuller than full. They can
   * be taken once more, so the bound on what is admitted counts what is used. What was used, or never
   * taken, must not be returned.
   */
  returnTokens(n: number): void {
    checkTokens('n', n);
    this.seek().returnTokens(this.clock.now(), n);
  }

  /** Tokens that can be taken now, fractions included: {@link balance}, or 0 in debt. */
  available(): number {
    return Math.max(0, this.balance());
  }

  /** Tokens in the bucket, fractions included: negative in debt, Infinity where unlimited. */
  balance(): number {
    return this.seek().balance(this.clock.now());
  }

  /**
   * Milliseconds until the bucket holds `tokens`, if nobody takes any: 0 if it does now, Infinity
   * if it never will.
   */
  timeUntil(tokens: number): number {
    checkTokens('tokens', tokens);
    return this.seek().timeUntil(this.clock.now(), tokens) / 1000;
  }
}
