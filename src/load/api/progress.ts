/** The progress of a run. */
export interface DriveProgress {
  /** Milliseconds since the first call that counts. */
  readonly elapsedMs: number;
  /** Calls that came due so far; with `rate: Infinity`, calls made. */
  readonly calls: number;
  /** Calls that have failed so far. */
  readonly failed: number;
  /** Calls in flight, or due and not started. */
  readonly waiting: number;
  /** True when no more calls come due and the run waits for those in flight. */
  readonly finishing: boolean;
}
