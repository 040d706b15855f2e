import type { LoopGauge } from './loop-gauge.ts';

/** Without processor time to spare, a thread that owes this much can't catch up. */
const MOST_QUEUED = 10_000;

/**
 * Decides when a thread must leave slots of the schedule to others, because this client can't send
 * what it has taken. A slow target alone is never a reason: its requests stay due.
 */
export class Backlog {
  readonly #connections: number;
  /** Whether the processors of the machine have no time left. */
  processorsAreFull = false;

  constructor(connections: number) {
    this.#connections = connections;
  }

  /** @param queued requests that are due and have no connection yet */
  isFull(queued: number, loop: Pick<LoopGauge, 'isFull'>): boolean {
    if (queued <= this.#connections) return false;
    return loop.isFull || (this.processorsAreFull && queued > MOST_QUEUED);
  }
}
