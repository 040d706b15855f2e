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

/** Windows and logs count whole tokens only. */
function checkWhole(n: unknown): number {
  // Fast path: only an invalid value pays for the message.
  if (typeof n === 'number' && n >= 0 && Number.isInteger(n)) return n;
  return checkNumber('n', n, { min: 0, integer: true });
}

/**
 * The methods common to windows and logs. `n` is an integer and defaults to 1; 0 is always admitted
 * and takes nothing; more than the limit is never admitted. A negative, fractional or infinite `n`
 * throws a RangeError, a non-numeric one a TypeError.
 */
export abstract class WindowLimiter<Kind extends CellKind> implements Limiter {
  /** The clock, the same one for all threads of this limiter. */
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

  /** Send this to another thread and pass it to `attach` there. */
  get handle(): LimiterHandle<Kind> {
    return handleOf(this.#opened);
  }

  /** The kernel that this thread uses. */
  get kernelName(): KernelName {
    return this.#kernel.name;
  }

  /** The largest number of tokens that a window admits. */
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

  /** Takes as many tokens as are available, up to `n`, and returns their number. */
  consumeOrDrain(n: number): number {
    return this.#kernel.drain(checkWhole(n), this.#reading);
  }

  /** Takes `n` tokens now or none, and reports the state of the limiter. */
  decide(n = 1): Decision {
    return decisionOf(this.#kernel.decide(checkWhole(n), this.#reading));
  }

  /** Returns the tokens that can be taken now. */
  available(): number {
    return this.#kernel.available(this.#reading);
  }

  /**
   * Returns the milliseconds until `tokens` can be taken if no one else takes any: 0 if they can
   * now, Infinity if they never can.
   */
  timeUntil(tokens: number): number {
    return this.#kernel.timeUntil(checkWhole(tokens), this.#reading) / 1000;
  }

  /**
   * Waits until `n` tokens are available, and takes them. Callers are not served in order: each
   * sleeps until a retry can succeed, then tries again. The wait keeps the event loop alive. An
   * abort takes nothing.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT` as soon as it is known that the wait would
   * exceed `timeoutMs`; `ERR_EXCEEDS_BURST` if `n` exceeds the limit. In both cases nothing is
   * taken.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<void> {
    checkWhole(n);
    await retry(this.clock, this.#attempt, n, this.limit, checkWait(options));
  }

  /**
   * Blocks the thread until `n` tokens are available, takes them and returns true. Returns false,
   * taking nothing, as soon as it is known that the wait would exceed `timeoutMs`.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` exceeds the limit.
   */
  waitSync(n = 1, options: Omit<WaitOptions, 'signal'> = {}): boolean {
    checkWhole(n);
    return retrySync(this.clock, this.#attempt, n, this.limit, checkWait(options));
  }

  /**
   * Returns counts over all threads since the limiter was created.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if it was created without `stats: true`.
   */
  stats(): LimiterStats {
    return statsOf(this.#kernel);
  }
}
