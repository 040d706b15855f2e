import type { LoopGauge } from './loop-gauge.ts';

/** With the processors full, a thread with this many queued requests can't catch up. */
const MOST_QUEUED = 10_000;

/**
 * Decides when a thread must leave slots to other threads because this client can't keep up. A slow
 * target alone is never a reason: requests to it stay due.
 */
export class Backlog {
  readonly #connections: number;
  /** Whether the machine has no processor time left. */
  processorsAreFull = false;

  constructor(connections: number) {
    this.#connections = connections;
  }

  /** @param queued due requests that wait for a connection */
  isFull(queued: number, loop: Pick<LoopGauge, 'isFull'>): boolean {
    if (queued <= this.#connections) return false;
    return loop.isFull || (this.processorsAreFull && queued > MOST_QUEUED);
  }
}
