/** How far a run is. */
export interface DriveProgress {
  /** Milliseconds since the first call that counts. */
  readonly elapsedMs: number;
  /** Calls that came due so far; with `rate: Infinity`, calls made. */
  readonly calls: number;
  /** How many of them have failed. */
  readonly failed: number;
  /** Calls that are in flight, or due and not begun. */
  readonly waiting: number;
  /** No more calls come due; the run waits for those in flight. */
  readonly finishing: boolean;
}
