import type { Tally } from './tally.ts';

/** What a thread provides to its work. */
export interface WorkHooks {
  /** The tally for requests due at this instant. */
  readonly tallyOf: (dueUs: number) => Tally;
  /** The current time in microseconds, on the clock of the due instants. */
  readonly now: () => number;
  /** Called when nothing is in flight or queued. */
  readonly onIdle: () => void;
}

/** The work of a thread: sends requests, or calls a task, at each due instant. */
export interface Work {
  readonly inFlight: number;
  /** The most requests or calls that can be in flight: of HTTP/2, as many as the server allows. */
  readonly capacity: number;
  /** Requests or calls that are due and not started. */
  readonly queued: number;
  readonly isIdle: boolean;
  /** Starts or queues a due request or call. */
  send(dueUs: number, nowUs: number): void;
  /** Drops the queue and counts its entries as `unsent`. */
  dropQueue(): void;
  /** A rejection reports a failed teardown; the results stay valid. */
  close(): void | Promise<void>;
}
