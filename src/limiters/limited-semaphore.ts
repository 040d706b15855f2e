import { checkOptions } from '../known-options.ts';
import { checkTokens } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import type { Limiter } from './limiter.ts';
import { Lane, meet, meetNow, meetSync, within } from './meeting.ts';
import { type Permit, runWithPermit } from './permit.ts';
import { messageOf, type RefusedMessage, refused } from './refused.ts';
import type { Semaphore } from './semaphore.ts';
import { ACQUIRE, type AcquireOptions, type RunOptions } from './semaphore-options.ts';
import { type Decision, Described, type Description } from './state.ts';
import { checkPossible, checkWait, queueFull, timedOut } from './waiting.ts';

/** Most limiters can take tokens back. */
interface Returning {
  returnTokens(n: number): void;
}

/**
 * A semaphore with a rate, from {@link allOf}: limits how many callers are in flight at once and
 * how many start per second. A call takes one permit and `n` tokens, or nothing.
 *
 * Callers of one object are served in order. No caller holds a permit while it waits for tokens, and
 * at most one of each object keeps tokens while it waits for a permit.
 *
 * @example
 * ```ts
 * const semaphore = Semaphore.create({ permits: 10 });
 * const bucket = TokenBucket.create({ rate: 100, burst: 10 });
 * const both = allOf(semaphore, bucket);
 * await both.run(() => serve()); // 100 a second, and at most 10 at once
 * ```
 */
export class LimitedSemaphore extends Described {
  /** The clock, the same one for all threads. */
  readonly clock: Clock;
  readonly #semaphore: Semaphore;
  readonly #limiter: Limiter & Partial<Returning>;
  readonly #lane = new Lane();
  #waiting = 0;

  /** Use {@link allOf}. @internal */
  constructor(semaphore: Semaphore, limiter: Limiter) {
    super();
    this.clock = semaphore.clock;
    this.#semaphore = semaphore;
    this.#limiter = limiter;
  }

  /** @internal */
  protected describe(): Description {
    return ['allOf', { 0: `${this.#semaphore}`, 1: `${this.#limiter}` }];
  }

  /** @internal */
  refusal(n: number): Partial<RefusedMessage> {
    const parts: RefusedMessage[] = [];
    if (this.#semaphore.available() < 1) parts.push(messageOf(this.#semaphore, 1));
    if (this.#limiter.timeUntil(n) > 0) parts.push(messageOf(this.#limiter, n));
    return { parts };
  }

  /** Number of callers waiting in `acquire` or `run` on this object. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The number of permits, the same one for all threads. */
  get permits(): number {
    return this.#semaphore.permits;
  }

  /** Returns the number of permits in use by all threads. */
  inUse(): number {
    return this.#semaphore.inUse();
  }

  /** Returns the number of calls for one token that could start now. */
  available(): number {
    return Math.min(this.#semaphore.available(), Math.floor(this.#limiter.available()));
  }

  /** Takes one permit and `n` tokens now, or takes nothing and returns undefined. */
  tryAcquire(n = 1): Permit | undefined {
    checkTokens('n', n);
    return meetNow(this.#semaphore, () => this.#limiter.tryConsume(n))?.[0];
  }

  /**
   * Like {@link tryAcquire}, with the decision of the limiter; undefined if no permit was free.
   *
   * @internal
   */
  admit(n: number): { permit: Permit | undefined; decision: Decision | undefined } {
    let decision: Decision | undefined;
    const met = meetNow(this.#semaphore, () => {
      decision = this.#limiter.decide(n);
      return decision.allowed;
    });
    return { permit: met?.[0], decision };
  }

  /**
   * Waits for one permit and `n` tokens, behind earlier callers of this object. The wait keeps the
   * event loop alive. If it fails or is aborted, it takes nothing; tokens that had come go back if
   * the limiter can take them back.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` after `timeoutMs`, or as soon as the tokens
   * cannot come in time; `ERR_EXCEEDS_BURST` if the limiter can never grant `n`; `ERR_QUEUE_FULL` if
   * `maxWaiting` callers of this object wait.
   */
  async acquire(n = 1, options: AcquireOptions = {}): Promise<Permit> {
    checkTokens('n', n);
    const { signal, timeoutMs, maxWaiting } = checkWait(checkOptions(options, ACQUIRE));
    signal?.throwIfAborted();
    const isFull = this.#waiting >= maxWaiting;
    // A refusal would count as a call of its own, in addition to the wait.
    if (isFull || timeoutMs === 0 || this.#isFree(n)) {
      const permit = this.#waiting === 0 ? this.tryAcquire(n) : undefined;
      if (permit !== undefined) return permit;
    }
    this.#checkPossible(n);
    if (isFull || timeoutMs === 0) {
      // A part has published the refusal of an attempt.
      if (this.#waiting > 0) refused(this, n);
      throw isFull ? queueFull(maxWaiting) : timedOut(n, timeoutMs);
    }
    this.#waiting++;
    try {
      return await within(this.clock, n, { timeoutMs, signal }, async (until, deadlineUs) => {
        try {
          return await this.#lane.serve(until, () => this.#acquire(n, until, deadlineUs));
        } catch (error) {
          // A part publishes its own refusals, but does not know this deadline.
          if (error === until.reason && error !== signal?.reason) refused(this, n);
          throw error;
        }
      });
    } finally {
      this.#waiting--;
    }
  }

  /** An unlimited bucket with a burst grants more than that. */
  #checkPossible(n: number): void {
    if (this.#limiter.timeUntil(n) > 0) checkPossible(n, this.#limiter.limit);
  }

  /** Whether a call for `n` tokens need not wait, unless another thread is faster. */
  #isFree(n: number): boolean {
    const semaphore = this.#semaphore;
    return semaphore.waiting === 0 && semaphore.available() > 0 && this.#limiter.timeUntil(n) === 0;
  }

  async #acquire(n: number, signal: AbortSignal, deadlineUs: number): Promise<Permit> {
    const tokens = {
      ...this.#tokens(n),
      areValid: () => true,
      wait: async () => {
        await this.#limiter.wait(n, { timeoutMs: this.#leftMs(deadlineUs), signal });
        return true;
      },
    };
    return (await meet(this.#semaphore, tokens, signal)) as Permit; // there is a semaphore
  }

  #tokens(n: number) {
    const limiter = this.#limiter;
    return {
      areThere: () => limiter.timeUntil(n) === 0,
      take: () => limiter.tryConsume(n),
      giveBack: () => limiter.returnTokens?.(n),
    };
  }

  #leftMs(deadlineUs: number): number {
    return Math.max(0, (deadlineUs - this.clock.now()) / 1000);
  }

  /**
   * Blocks the thread until one permit and `n` tokens are available, and takes them; returns
   * undefined after `timeoutMs`, or as soon as the tokens cannot come in time.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the limiter can never grant `n`.
   */
  acquireSync(n = 1, options: Pick<AcquireOptions, 'timeoutMs'> = {}): Permit | undefined {
    checkTokens('n', n);
    const { timeoutMs } = checkWait(checkOptions(options, { timeoutMs: true }));
    this.#checkPossible(n);
    const deadlineUs = this.clock.now() + timeoutMs * 1000;
    const left = () => ({ timeoutMs: this.#leftMs(deadlineUs) });
    return meetSync(() => this.#semaphore.acquireSync(1, left()), {
      ...this.#tokens(n),
      wait: () => this.#limiter.waitSync(n, left()),
    });
  }

  /**
   * Runs a function with one permit, after taking `n` tokens, and releases the permit when the
   * function returns or throws, or its promise settles. Resolves with the function's result, or
   * rejects with its error.
   *
   * @throws RateLimitError as {@link acquire} does; `ERR_PERMIT_EXPIRED` if the permit was held
   * longer than `holdMs`.
   */
  async run<T>(action: () => T | PromiseLike<T>, options: RunOptions = {}): Promise<T> {
    return runWithPermit((n, waiting) => this.acquire(n, waiting), action, options);
  }
}
