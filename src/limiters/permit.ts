import { RateLimitError } from '../errors.ts';
import type { Seat } from '../kernel/semaphore/host.ts';

/** Takes permits back. @internal */
export interface Keeper {
  /** Returns the permits of a seat; false if they are back already or overdue. */
  takeBack(seat: Seat, dueUs: number): boolean;
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
  /** Expiry in microseconds of the semaphore's clock; Infinity without `holdMs`. @internal */
  readonly dueUs: number;
  #isReleased = false;

  /** @internal */
  constructor(keeper: Keeper, n: number, seat: Seat, dueUs: number) {
    this.n = n;
    this.#keeper = keeper;
    this.#seat = seat;
    this.dueUs = dueUs;
  }

  /**
   * Returns the permits to the semaphore, for the longest waiting callers of all threads.
   *
   * @throws RateLimitError `ERR_PERMIT_RELEASED` if it was released before; `ERR_PERMIT_EXPIRED` if
   * it was held longer than `holdMs`.
   */
  release(): void {
    if (this.#isReleased) {
      throw new RateLimitError('ERR_PERMIT_RELEASED', 'the permit was released before');
    }
    this.#isReleased = true;
    if (this.#keeper.takeBack(this.#seat, this.dueUs)) return;
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
