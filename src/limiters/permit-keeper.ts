import type { HostedSemaphore, Seat } from '../kernel/semaphore/host.ts';
import type { Clock } from '../time/clock.ts';
import { Adaptation, type CallOutcome } from './adaptation.ts';
import { type Keeper, Permit } from './permit.ts';

/** Takes permits for this thread's callers, and takes back those of any thread that are overdue. */
export class PermitKeeper implements Keeper {
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
  take(n: number): Seat | undefined {
    const seat = this.#kernel.take(n);
    if (seat || this.#kernel.holdMs === 0) return seat;
    this.expire();
    return this.#kernel.take(n);
  }

  /** Makes the permit of a seat. Its `holdMs` and its latency start now. */
  permit(n: number, seat: Seat): Permit {
    const { holdMs } = this.#kernel;
    try {
      const dueUs = holdMs > 0 ? this.#kernel.hold(seat, this.#now) : Number.POSITIVE_INFINITY;
      return new Permit(this, n, seat, dueUs, this.adaptation === undefined ? 0 : this.#now());
    } catch (error) {
      // The clock failed, so nobody gets the permits.
      this.#kernel.release(seat);
      throw error;
    }
  }

  takeBack(seat: Seat, dueUs: number, sinceUs: number, outcome: CallOutcome): boolean {
    let isLate = false;
    let isReleased = false;
    try {
      isLate = dueUs < Number.POSITIVE_INFINITY && this.#now() >= dueUs;
      this.adaptation?.ended(sinceUs, isLate && outcome === 'ok' ? 'dropped' : outcome);
    } finally {
      // Even if the clock failed.
      isReleased = this.#kernel.release(seat);
    }
    return isReleased && !isLate;
  }

  /** Takes back the permits of all threads that were held longer than `holdMs`. */
  expire(): void {
    if (this.#kernel.holdMs > 0) this.#kernel.expire(this.#now);
  }
}
