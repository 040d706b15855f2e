import type { Receipt, TokenKernel } from '../kernel/bucket/kernel.ts';
import type { Position } from '../kernel/bucket/position.ts';
import type { Grant } from './limiter.ts';

/** Tokens reserved for an instant. Act at that instant or later, or cancel. */
export class Reservation implements Grant {
  /** Milliseconds to wait before acting, as of the call to `reserve`; 0 means now. */
  readonly waitMs: number;
  /** The same instant in microseconds of the limiter's clock. */
  readonly atUs: number;
  readonly #kernel: TokenKernel;
  #receipt: Receipt | undefined;
  readonly #position: Position | undefined;

  /** Pass a position if the limit can change. @internal */
  constructor(
    kernel: TokenKernel,
    receipt: Receipt,
    nowUs: number,
    waitUs: number,
    position?: Position,
  ) {
    this.#kernel = kernel;
    this.#receipt = receipt;
    this.#position = position;
    this.waitMs = waitUs / 1000;
    this.atUs = nowUs + waitUs;
  }

  /**
   * When the tokens are due under the current limit, in microseconds of the limiter's clock: equal
   * to {@link atUs} until `reconfigure` moves it, earlier or later. Tokens that were available at
   * once stay due.
   */
  get dueUs(): number {
    return this.#position?.dueUs() ?? this.atUs;
  }

  /**
   * Puts the tokens back if no other call has taken any since and the limit has not changed.
   * Returns whether it did. Otherwise the tokens are lost, because later reservations assume that
   * they were used. Only the first call can return true.
   */
  cancel(): boolean {
    const receipt = this.#receipt;
    this.#receipt = undefined;
    return receipt !== undefined && this.#kernel.cancel(receipt);
  }
}
