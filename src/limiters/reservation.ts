import type { BucketKernel, Receipt } from '../kernel/bucket-kernel.ts';
import type { Grant } from './limiter.ts';

/** Tokens promised for an instant. Act at that instant or later, or give them back. */
export class Reservation implements Grant {
  /** Milliseconds to wait before acting, from the call of `reserve`; 0 is now. */
  readonly waitMs: number;
  /** The same instant, in microseconds of the limiter's clock. */
  readonly atUs: number;
  readonly #kernel: BucketKernel;
  #receipt: Receipt | undefined;

  constructor(kernel: BucketKernel, receipt: Receipt, nowUs: number, waitUs: number) {
    this.#kernel = kernel;
    this.#receipt = receipt;
    this.waitMs = waitUs / 1000;
    this.atUs = nowUs + waitUs;
  }

  /**
   * Gives the tokens back, and returns whether that was possible: only while no other call has
   * taken tokens since. Later reservations stand on this one; to them its tokens lapse. Only the
   * first call can return true.
   */
  cancel(): boolean {
    const receipt = this.#receipt;
    this.#receipt = undefined;
    return receipt !== undefined && this.#kernel.cancel(receipt);
  }
}
