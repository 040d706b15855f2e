import type { RecentPercentiles } from '../measure/latency-counts.ts';
import type { DriveProgress } from '../plan/drive-options.ts';

/** The progress of a run, with what the command shows in addition. */
export interface Progress extends DriveProgress {
  /** Requests per second over the last second; undefined before the first report. */
  readonly rateNow: number | undefined;
  /** The current target rate; undefined until it first changes. */
  readonly rateWanted: number | undefined;
  /** Latencies of the last second; undefined if it had no response. */
  readonly latency: RecentPercentiles | undefined;
}

export interface RunHooks {
  /** Ends the run early when aborted. */
  readonly stop: AbortSignal;
  readonly onStart?: (url: string) => void;
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Called once the run has started. The given function multiplies the rate by a factor, within the
   * valid rates.
   */
  readonly onSteerable?: (steer: (factor: number) => void) => void;
  /** For tests: replaces the code of the load threads. */
  readonly loadWorker?: URL;
}
