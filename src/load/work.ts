import type { Tally } from './tally.ts';

/** What a thread needs from its surroundings to do its work. */
export interface WorkHooks {
  /** The tally of what is due at this instant. */
  readonly tallyOf: (dueUs: number) => Tally;
  /** The current time in microseconds, on the clock of the instants. */
  readonly now: () => number;
  /** Called when nothing is in flight or queued any more. */
  readonly onIdle: () => void;
}

/** What a thread does at each due instant. */
export interface Work {
  readonly inFlight: number;
  /** Due, and not begun yet. */
  readonly queued: number;
  readonly isIdle: boolean;
  /** Starts or queues what is due. */
  send(dueUs: number, nowUs: number): void;
  /** Counts what is queued as `unsent`, and forgets it. */
  dropQueue(): void;
  /** A rejection says what went wrong in the end; the results stand. */
  close(): void | Promise<void>;
}
