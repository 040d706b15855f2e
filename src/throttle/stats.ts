/** The number of calls in each state. Each call is in exactly one. */
export interface ThrottleStats {
  /** Calls waiting to start. */
  readonly waiting: number;
  /** Calls in flight: started and not finished. */
  readonly running: number;
  /** Calls that returned. */
  readonly completed: number;
  /** Calls that failed or were aborted while running, or that the limiter can never admit. */
  readonly failed: number;
  /** Calls refused because the queue was full or closed. */
  readonly refused: number;
  /** Calls that did not start within `timeoutMs`. */
  readonly timedOut: number;
  /** Calls aborted before they started, or still waiting when their pool ended. */
  readonly aborted: number;
}

/** The final state of a call. */
export type Outcome = Exclude<keyof ThrottleStats, 'waiting' | 'running'>;
