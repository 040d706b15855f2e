import type { FleetOptions } from './fleet.ts';
import type { LoadOptions } from './options.ts';
import type { RequestCounts, TallyRecord } from './tally.ts';

/** What a thread warms up with, before the run. */
export interface Rehearsal {
  /** Of a server of our own: the target sees no request that is not in the result. */
  readonly url: string;
  readonly requests: number;
}

/** What a load thread is started with, as its `workerData`. */
export interface LoadThreadData {
  readonly url: string;
  readonly rehearsal: Rehearsal;
  /** Of this thread alone. */
  readonly connections: number;
  readonly request: Pick<LoadOptions, 'method' | 'headers' | 'body'>;
  readonly timeoutMs: number;
  /** How many reservations the thread holds ahead. */
  readonly outstanding: number;
  /** Whether to keep the latencies by time, too. */
  readonly latencyByTime: boolean;
  /** Where the limit lies, if not in the bucket of this process. */
  readonly fleet?: FleetOptions | undefined;
}

/** From the main thread to a load thread. */
export type LoadCommand =
  | {
      readonly type: 'go';
      /** The handle of the bucket that all threads share. */
      readonly bucket: unknown;
      /** How far the clock of the fleet's server is ahead of ours. */
      readonly aheadUs?: number | undefined;
      readonly startUs: number;
      readonly endUs: number;
    }
  /** The rate of the bucket has changed. */
  | {
      readonly type: 'rate';
      /** How many reservations the thread holds ahead from now on. */
      readonly outstanding: number;
    }
  /** Ends the run early. Requests that are due before `endUs` are still made. */
  | { readonly type: 'stop'; readonly endUs: number };

/** From a load thread to the main thread. */
export type LoadEvent =
  /** All code is loaded; waiting for `go`. */
  | { readonly type: 'ready' }
  | {
      readonly type: 'report';
      /** The instants admitted since the last report. */
      readonly admissions: Float64Array;
      readonly counters: RequestCounts;
      readonly waiting: number;
    }
  /** The last message: every request has ended. */
  | {
      readonly type: 'done';
      readonly admissions: Float64Array;
      readonly tally: TallyRecord;
    };
