import { RateLimitError } from '../errors.ts';
import type { Seat } from '../kernel/semaphore/host.ts';

/** Takes permits back. @internal */
export interface Keeper {
  /** Returns the permits of a seat; false if they have come back already or are overdue. */
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
  /** The number of permits that this object stands for. */
  readonly n: number;
  readonly #keeper: Keeper;
  readonly #seat: Seat;
  /** When it comes back by itself, by the semaphore's clock; Infinity without `holdMs`. @internal */
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
   * Returns the permits to the semaphore. The longest waiting callers get them, in any thread.
   *
   * @throws RateLimitError `ERR_PERMIT_RELEASED` if it was released before; `ERR_PERMIT_EXPIRED` if
   * it was held longer than `holdMs`, so that it was not yours any more.
   */
  release(): void {
    if (this.#isReleased) {
      throw new RateLimitError('ERR_PERMIT_RELEASED', 'the permit was released before');
    }
    this.#isReleased = true;
    if (this.#keeper.takeBack(this.#seat, this.dueUs)) return;
    throw new RateLimitError('ERR_PERMIT_EXPIRED', 'the permit was held longer than holdMs');
  }

  /** {@link release}, for `using`, unless that was called before. Requires Node 20.4 or later. */
  [Symbol.dispose](): void {
    if (!this.#isReleased) this.release();
  }

  /** {@link release}, for `await using`, unless that was called before. */
  async [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]();
  }
}
