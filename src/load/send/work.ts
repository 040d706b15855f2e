import type { LoopGauge } from '../measure/gauges.ts';
import type { Tally } from '../measure/tally.ts';

/** What a thread provides to its work. */
export interface WorkHooks {
  /** The tally for requests due at this instant. */
  readonly tallyOf: (dueUs: number) => Tally;
  /** The current time in microseconds, on the clock of the due instants. */
  readonly now: () => number;
  /** Called when nothing is in flight or queued. */
  readonly onIdle: () => void;
}

/** How long a run that is stopped waits for requests or calls in flight. */
export const STOPPED_MS = 1_000;
/** Why those that take longer are ended. */
export const STOPPED = `the run was stopped ${STOPPED_MS / 1_000} s before`;

/** The work of a thread: sends requests, or calls a task, at each due instant. */
export interface Work {
  readonly inFlight: number;
  /** The most requests or calls that can be in flight: of HTTP/2, as many as the server allows. */
  readonly capacity: number;
  /** Whether one of them ever had to wait for room. */
  readonly wasFull: boolean;
  /** Requests or calls that are due and not started. */
  readonly queued: number;
  readonly isIdle: boolean;
  /** Starts or queues a due request or call. */
  send(dueUs: number, nowUs: number): void;
  /** Drops the queue and counts its entries as `unsent`. */
  dropQueue(): void;
  /** Drops the queue, and ends what is in flight: it counts as `interrupted`. */
  interrupt(): void;
  /** A rejection reports a failed teardown; the results stay valid. */
  close(): void | Promise<void>;
}

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
