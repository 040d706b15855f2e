import type { LimiterStats } from '../kernel/bucket/kernel.ts';
import type { WindowKernel } from '../kernel/window/kernel.ts';
import type { KernelName } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import { checkNumber } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import { type Decision, decisionOf } from './decision.ts';
import type { Grant, Limiter, WaitOptions } from './limiter.ts';
import { handleOf, type LimiterHandle, type OpenLimiter } from './opening.ts';
import { Reading } from './reading.ts';
import { statsOf } from './stats.ts';
import { type Attempt, checkWait, retry, retrySync } from './waiting.ts';

/** Admissions are counted one by one here: whole tokens only. */
function checkWhole(n: unknown): number {
  // Spelled out for the hot path: the message is worth its price only when it is needed.
  if (typeof n === 'number' && n >= 0 && Number.isInteger(n)) return n;
  return checkNumber('n', n, { min: 0, integer: true });
}

/**
 * The methods that windows and logs have in common. A number of tokens `n` is whole here; 0 is
 * admitted and takes nothing; a negative, fractional, infinite or non-number `n` throws RangeError
 * or TypeError. More than the limit at once is never admitted.
 */
export abstract class WindowLimiter<Kind extends CellKind> implements Limiter {
  /** The clock that every thread of this limiter reads. */
  readonly clock: Clock;
  readonly #opened: OpenLimiter<Kind>;
  readonly #kernel: WindowKernel;
  readonly #reading: Reading;
  readonly #attempt: Attempt;

  protected constructor(opened: OpenLimiter<Kind>, kernel: WindowKernel) {
    this.#opened = opened;
    this.#kernel = kernel;
    this.clock = opened.clock;
    const reading = new Reading(opened.clock);
    this.#reading = reading;
    this.#attempt = (n) =>
      kernel.take(n, reading) ? undefined : { retryAtUs: reading.us + kernel.waitUs };
  }

  /** Attaches another thread to this limiter: send it there, and give it to `attach`. */
  get handle(): LimiterHandle<Kind> {
    return handleOf(this.#opened);
  }

  /** What this thread works on the limiter's memory with. */
  get kernelName(): KernelName {
    return this.#kernel.name;
  }

  /** The most that a window admits. */
  get limit(): number {
    return this.#kernel.limit;
  }

  /** Takes `n` tokens now, or none. */
  tryConsume(n = 1): boolean {
    return this.#kernel.take(checkWhole(n), this.#reading);
  }

  /** @internal */
  take(n: number): Grant | undefined {
    const kernel = this.#kernel;
    if (!kernel.take(checkWhole(n), this.#reading)) return undefined;
    const receipt = kernel.receipt();
    return { cancel: () => kernel.cancel(receipt) };
  }

  /** Takes as many tokens as there are, at most `n`, and returns how many. */
  consumeOrDrain(n: number): number {
    return this.#kernel.drain(checkWhole(n), this.#reading);
  }

  /** Takes `n` tokens now or none, and says how things stand. */
  decide(n = 1): Decision {
    return decisionOf(this.#kernel.decide(checkWhole(n), this.#reading));
  }

  /** Tokens that can be taken now. */
  available(): number {
    return this.#kernel.available(this.#reading);
  }

  /** Milliseconds until `tokens` can be taken, if nobody takes any: 0 for now, Infinity for never. */
  timeUntil(tokens: number): number {
    return this.#kernel.timeUntil(checkWhole(tokens), this.#reading) / 1000;
  }

  /**
   * Resolves when `n` tokens were taken. It sleeps until a retry can succeed at the earliest and
   * looks again, so callers are not served in the order in which they asked. The wait keeps the
   * event loop alive; an abort takes nothing.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT`, as soon as it is known that the wait would
   * outlast `timeoutMs`; `ERR_EXCEEDS_BURST` if `n` is more than the limit. Nothing is taken then.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<void> {
    checkWhole(n);
    await retry(this.clock, this.#attempt, n, this.limit, checkWait(options));
  }

  /**
   * Blocks the thread until `n` tokens were taken, and returns true; returns false, and takes
   * nothing, as soon as it is known that the wait would outlast `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` is more than the limit.
   */
  waitSync(n = 1, options: Omit<WaitOptions, 'signal'> = {}): boolean {
    checkWhole(n);
    return retrySync(this.clock, this.#attempt, n, this.limit, checkWait(options));
  }

  /**
   * Counts over all threads since the limiter was made.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was made without `stats: true`.
   */
  stats(): LimiterStats {
    return statsOf(this.#kernel);
  }
}
