import type { LoopGauge } from './loop-gauge.ts';
import type { Work } from './work.ts';

/** With the processors full, a thread with this many queued requests can't catch up. */
const MOST_QUEUED = 10_000;

/**
 * Decides when a thread must leave slots to other threads because this client can't keep up. A slow
 * target alone is never a reason: requests to it stay due.
 */
export class Backlog {
  /** Whether the machine has no processor time left. */
  processorsAreFull = false;
  readonly #capacity: number | undefined;

  /** @param capacity replaces that of the work */
  constructor(capacity?: number) {
    this.#capacity = capacity;
  }

  isFull(
    { queued, capacity }: Pick<Work, 'queued' | 'capacity'>,
    loop: Pick<LoopGauge, 'isFull'>,
  ): boolean {
    if (queued <= (this.#capacity ?? capacity)) return false;
    return loop.isFull || (this.processorsAreFull && queued > MOST_QUEUED);
  }
}
