import { RateLimitError } from '../errors.ts';
import type { Seat } from '../kernel/semaphore/host.ts';
import { checkOptions, type Known } from '../known-options.ts';
import { shown } from '../options.ts';
import { CALL_OUTCOMES, type CallOutcome } from './adaptation.ts';

/** Takes permits back. @internal */
export interface Keeper {
  /** Returns the permits of a seat; false if they are back already or overdue. */
  takeBack(seat: Seat, dueUs: number, sinceUs: number, outcome: CallOutcome): boolean;
}

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
  readonly #keeper: Keeper;
  readonly #seat: Seat;
  readonly #sinceUs: number;
  /** Expiry in microseconds of the semaphore's clock; Infinity without `holdMs`. @internal */
  readonly dueUs: number;
  #isReleased = false;

  /** @internal */
  constructor(keeper: Keeper, n: number, seat: Seat, dueUs: number, sinceUs: number) {
    this.n = n;
    this.#keeper = keeper;
    this.#seat = seat;
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
    if (this.#keeper.takeBack(this.#seat, this.dueUs, this.#sinceUs, outcome)) return;
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
