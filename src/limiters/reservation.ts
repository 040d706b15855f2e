import type { Receipt, TokenKernel } from '../kernel/bucket/kernel.ts';
import type { Place } from '../kernel/bucket/position.ts';
import { checkTokens } from '../options.ts';
import type { Grant } from './limiter.ts';

/** The admission behind a reservation. @internal */
export interface Taking {
  readonly kernel: TokenKernel;
  readonly n: number;
  readonly nowUs: number;
  readonly waitUs: number;
  /** Undefined if nothing can move the tokens. */
  readonly position?: Place | undefined;
  /** The bucket that settles it. */
  readonly owner: { settle(estimated: number, actual: number): number };
}

/** Tokens reserved for an instant. Act at that instant or later, or cancel. */
export class Reservation implements Grant {
  /**
   * Milliseconds to wait before acting, as of the call to `reserve`: 0 means now, Infinity until
   * `reconfigure` ends a pause.
   */
  readonly waitMs: number;
  /** The instant to act, in microseconds of the limiter's clock, as of the call to `reserve`. */
  readonly atUs: number;
  /** The clock when the tokens were requested. @internal */
  readonly askedUs: number;
  readonly #taking: Taking;
  #receipt: Receipt | undefined;
  #n: number;

  /** @internal */
  constructor(taking: Taking) {
    const { kernel, n, nowUs, waitUs } = taking;
    this.#taking = taking;
    this.#receipt = kernel.receipt();
    this.#n = n;
    this.waitMs = waitUs / 1000;
    this.askedUs = nowUs;
    this.atUs = nowUs + waitUs;
  }

  /**
   * The instant to act, in microseconds of the limiter's clock. It starts as {@link atUs};
   * `reconfigure` moves it in either direction, and returned tokens make it earlier. Tokens that
   * were available at once stay due.
   */
  get dueUs(): number {
    return this.#taking.position?.dueUs() ?? this.atUs;
  }

  /**
   * Puts the tokens back if no other call has taken any since and the limit has not changed.
   * Returns whether it did. Otherwise the tokens lapse, because later reservations assume that they
   * were used. Only the first call can return true.
   */
  cancel(): boolean {
    const receipt = this.#receipt;
    const { kernel, position } = this.#taking;
    this.#receipt = undefined;
    return receipt !== undefined && (kernel.cancel(receipt) || position?.cancel(receipt) === true);
  }

  /**
   * Corrects an estimate once you know the real cost: charges the difference if `actual` is more,
   * even beyond the burst, and returns it if `actual` is less. Repeated calls each start from the
   * previous amount. Returns the milliseconds until the debt is paid, 0 if there is none. A
   * reservation cannot be cancelled after this.
   *
   * @throws RangeError, TypeError if `actual` is not a finite number >= 0.
   */
  settle(actual: number): number {
    checkTokens('actual', actual);
    const estimated = this.#n;
    this.#receipt = undefined;
    this.#n = actual;
    return this.#taking.owner.settle(estimated, actual);
  }
}
