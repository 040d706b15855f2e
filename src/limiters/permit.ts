import { RateLimitError } from '../errors.ts';
import type { HostedSemaphore, Waiter } from '../kernel/semaphore/host.ts';
import { checkOptions, type Known } from '../known-options.ts';
import { shown } from '../options.ts';
import type { Clock } from '../time/clock.ts';
import { Adaptation, CALL_OUTCOMES, type CallOutcome } from './adaptation.ts';
import { type AcquireOptions, RUN, type RunOptions } from './semaphore-options.ts';

/** Options of `Permit.release`. */
export interface ReleaseOptions {
  /**
   * How the call ended, for a semaphore that adapts: `'ok'`, the default, counts its latency;
   * `'dropped'` says that the server refused it or did not answer in time, which lowers the number;
   * `'ignore'` counts nothing.
   */
  readonly outcome?: CallOutcome;
}

const RELEASE: Known<ReleaseOptions> = { outcome: true };

function checkOutcome(options: ReleaseOptions): CallOutcome {
  const { outcome = 'ok' } = checkOptions(options, RELEASE);
  if (CALL_OUTCOMES.includes(outcome)) return outcome;
  throw new TypeError(`outcome must be 'ok', 'dropped' or 'ignore', got ${shown(outcome)}`);
}

/**
 * The right to be in flight, from `Semaphore.acquire`. Release it when the work is done, or let
 * `using` do so at the end of the block.
 *
 * @example
 * ```ts
 * const semaphore = Semaphore.create({ permits: 10 });
 * const permit = await semaphore.acquire();
 * try {
 *   await serve();
 * } finally {
 *   permit.release();
 * }
 * ```
 */
export class Permit {
  /** The number of permits in this object. */
  readonly n: number;
  readonly #keeper: PermitKeeper;
  readonly #waiter: Waiter;
  readonly #sinceUs: number;
  /** Expiry in microseconds of the semaphore's clock; Infinity without `holdMs`. @internal */
  readonly dueUs: number;
  #isReleased = false;

  /** @internal */
  constructor(keeper: PermitKeeper, n: number, waiter: Waiter, dueUs: number, sinceUs: number) {
    this.n = n;
    this.#keeper = keeper;
    this.#waiter = waiter;
    this.dueUs = dueUs;
    this.#sinceUs = sinceUs;
  }

  /**
   * Returns the permits to the semaphore, for the longest waiting callers of all threads.
   *
   * @throws RateLimitError `ERR_PERMIT_RELEASED` if it was released before; `ERR_PERMIT_EXPIRED` if
   * it was held longer than `holdMs`.
   * @throws TypeError for an invalid option; then nothing is released.
   */
  release(options?: ReleaseOptions): void {
    const outcome = options === undefined ? 'ok' : checkOutcome(options);
    if (this.#isReleased) {
      throw new RateLimitError('ERR_PERMIT_RELEASED', 'the permit was released before');
    }
    this.#isReleased = true;
    if (this.#keeper.takeBack(this.#waiter, this.n, this.dueUs, this.#sinceUs, outcome)) return;
    throw new RateLimitError('ERR_PERMIT_EXPIRED', 'the permit was held longer than holdMs');
  }

  /** {@link release} for `using`; does nothing if released before. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    if (!this.#isReleased) this.release();
  }

  /** {@link release} for `await using`; does nothing if released before. */
  async [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]();
  }
}

/** Takes permits for this thread's callers, and takes back those of any thread that are overdue. */
export class PermitKeeper {
  readonly #kernel: HostedSemaphore;
  readonly #now: () => number;
  /** Undefined if the number of permits is fixed. */
  readonly adaptation: Adaptation | undefined;

  constructor(kernel: HostedSemaphore, clock: Clock) {
    this.#kernel = kernel;
    this.#now = () => clock.now();
    this.adaptation = kernel.adapts > 0 ? new Adaptation(kernel, clock) : undefined;
  }

  /** Takes `n` permits now, or none. */
  take(n: number): Waiter | undefined {
    const waiter = this.#kernel.take(n);
    if (waiter || this.#kernel.holdMs === 0) return waiter;
    this.expire();
    return this.#kernel.take(n);
  }

  /** Makes the permit of a waiter. Its `holdMs` and its latency start now. */
  permit(n: number, waiter: Waiter): Permit {
    const { holdMs } = this.#kernel;
    try {
      const dueUs = holdMs > 0 ? this.#kernel.hold(waiter, this.#now) : Number.POSITIVE_INFINITY;
      return new Permit(this, n, waiter, dueUs, this.adaptation === undefined ? 0 : this.#now());
    } catch (error) {
      // The clock failed, so nobody gets the permits.
      this.#kernel.release(waiter);
      throw error;
    }
  }

  /**
   * Returns the permits of a waiter, unless closing the region did; false if they are back already
   * or overdue.
   */
  takeBack(
    waiter: Waiter,
    n: number,
    dueUs: number,
    sinceUs: number,
    outcome: CallOutcome,
  ): boolean {
    let isLate = false;
    let isReleased = false;
    try {
      isLate = dueUs < Number.POSITIVE_INFINITY && this.#now() >= dueUs;
      this.adaptation?.ended(sinceUs, n, isLate && outcome === 'ok' ? 'dropped' : outcome);
    } finally {
      // Even if the clock failed.
      isReleased = this.#kernel.release(waiter) || this.#kernel.isClosed(waiter);
    }
    return isReleased && !isLate;
  }

  /** Takes back the permits of all threads that were held longer than `holdMs`. */
  expire(): void {
    if (this.#kernel.holdMs > 0) this.#kernel.expire(this.#now);
  }
}

/**
 * Releases a permit after a failure, or without a call. Its expiry is ignored: the failure's own
 * error matters more.
 */
export function drop(permit: Permit | undefined, outcome: CallOutcome = 'ignore'): void {
  try {
    permit?.release({ outcome });
  } catch {}
}

function isTimeout(error: unknown): boolean {
  const { name } = (error ?? {}) as { readonly name?: unknown };
  return typeof name === 'string' && name.endsWith('TimeoutError');
}

/**
 * The outcome of a call that failed: `'dropped'` after a timeout, as of `AbortSignal.timeout` or
 * undici. Other errors may come from the caller itself, so they say nothing about the server.
 */
export function outcomeOfError(error: unknown): CallOutcome {
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  return isTimeout(error) || isTimeout(cause) ? 'dropped' : 'ignore';
}

/** The outcome of a failed call by the user's function, whose own errors never matter more. */
export function outcomeBy(outcomeOf: (error: unknown) => CallOutcome, error: unknown): CallOutcome {
  try {
    const outcome = outcomeOf(error);
    // With any other value, such as a promise, the permit would not be released.
    if (CALL_OUTCOMES.includes(outcome)) return outcome;
  } catch {
    // as if it said nothing
  }
  return 'ignore';
}

/** Checks the option `outcomeOf`. */
export function checkOutcomeOf(outcomeOf: unknown): void {
  if (outcomeOf === undefined || typeof outcomeOf === 'function') return;
  throw new TypeError(`outcomeOf must be a function, got ${shown(outcomeOf)}`);
}

/** Runs a function with the permit from `acquire`. */
export async function runWithPermit<T>(
  acquire: (n: number | undefined, options: AcquireOptions) => Promise<Permit>,
  action: () => T | PromiseLike<T>,
  options: RunOptions,
): Promise<T> {
  if (typeof action !== 'function') {
    throw new TypeError(`action must be a function, got ${shown(action)}`);
  }
  const known = checkOptions(options, RUN);
  // Read by name: a rest leaves out what is inherited, and a copy of all takes longer than the permit.
  const { n, outcomeOf = outcomeOfError, timeoutMs, signal, maxWaiting } = known;
  checkOutcomeOf(outcomeOf);
  const waiting = { timeoutMs, signal, maxWaiting } as AcquireOptions; // undefined counts as omitted
  const permit = await acquire(n, waiting);
  let result: T;
  try {
    result = await action();
  } catch (error) {
    drop(permit, outcomeBy(outcomeOf, error));
    throw error;
  }
  permit.release();
  return result;
}
