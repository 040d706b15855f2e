import type { Receipt, TokenKernel } from '../kernel/bucket/kernel.ts';
import type { Position } from '../kernel/bucket/position.ts';
import type { Grant } from './limiter.ts';

/** Tokens promised for an instant. Act at that instant or later, or give them back. */
export class Reservation implements Grant {
  /** Milliseconds to wait before acting, from the call of `reserve`, as promised then; 0 is now. */
  readonly waitMs: number;
  /** The same instant, in microseconds of the limiter's clock. */
  readonly atUs: number;
  readonly #kernel: TokenKernel;
  #receipt: Receipt | undefined;
  readonly #position: Position | undefined;

  /** With a position where the limit can change. @internal */
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
   * The instant at which the tokens are there by the limit in force now, in microseconds of the
   * limiter's clock: {@link atUs}, until `reconfigure` moves it, earlier or later. Tokens that were
   * there at once stay due.
   */
  get dueUs(): number {
    return this.#position?.dueUs() ?? this.atUs;
  }

  /**
   * Gives the tokens back, and returns whether that was possible: only while no other call has
   * taken tokens since, and the limit has not changed. Later reservations stand on this one; to them
   * its tokens lapse. Only the first call can return true.
   */
  cancel(): boolean {
    const receipt = this.#receipt;
    this.#receipt = undefined;
    return receipt !== undefined && this.#kernel.cancel(receipt);
  }
}
