/** How calls ended. */
export interface CallCounts {
  /** Calls made. */
  readonly sent: number;
  /** Calls that returned or resolved; for a target, responses with a status below 400. */
  readonly succeeded: number;
  /** Calls that threw, rejected, timed out or never started; other responses and errors. */
  readonly failed: number;
}

/** The counts of a thread while it runs. */
export type RunningCounts = { -readonly [Name in keyof CallCounts]: CallCounts[Name] };

/** The sum of counts; those of a thread may be unknown. */
export function totalOf(counts: Iterable<CallCounts | undefined>): RunningCounts {
  const total = { sent: 0, succeeded: 0, failed: 0 };
  for (const { sent, succeeded, failed } of [...counts].filter((one) => one !== undefined)) {
    total.sent += sent;
    total.succeeded += succeeded;
    total.failed += failed;
  }
  return total;
}
