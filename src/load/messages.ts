import type { FleetOptions } from './fleet.ts';
import type { LoadOptions, TaskOptions } from './options.ts';
import type { RequestCounts, TallyRecord } from './tally.ts';
import type { SharedTimetable } from './timetable-slots.ts';
import type { Transport } from './transport.ts';

/** How a thread warms up its code before the run. */
interface Rehearsal {
  /** The embedded server's URL: the target must only get requests that are in the result. */
  readonly url: string;
  readonly requests: number;
  readonly request: RequestParts;
  readonly transport?: Transport | undefined;
}

/** The parts of a request except its URL. */
type RequestParts = Pick<LoadOptions, 'method' | 'headers' | 'body'>;

/** The part of `workerData` that all threads get. */
export interface ThreadData {
  readonly timeoutMs: number;
  /** Number of reservations to hold ahead. */
  readonly outstanding: number;
  /** Whether to also record latencies by time. */
  readonly latencyByTime: boolean;
  /** The limit shared through a server, if any. */
  readonly fleet?: FleetOptions | undefined;
}

/** The `workerData` of a thread that sends requests. */
export interface LoadThreadData extends ThreadData {
  readonly url: string;
  readonly rehearsal: Rehearsal;
  /** Maximum number of this thread's connections. */
  readonly connections: number;
  /** Connections to open before the run, at least one. */
  readonly openAhead: number;
  readonly request: RequestParts;
  /** How to connect to the target; by default over TCP, with HTTP/1.1. */
  readonly transport?: Transport | undefined;
}

/** The task that a thread calls. */
interface ThreadTask extends TaskOptions {
  /** The index of the thread. */
  readonly thread: number;
  readonly threads: number;
  /** The call counter shared by all threads. */
  readonly counter: BigInt64Array<SharedArrayBuffer>;
}

/** The `workerData` of a thread that calls a task. */
export interface TaskThreadData extends ThreadData {
  readonly task: ThreadTask;
}

/** A message from the main thread to a load thread. */
export type LoadCommand =
  | {
      readonly type: 'go';
      /** The handle of the bucket that all threads share. */
      readonly bucket: unknown;
      /** The timetable, unless it is the bucket's. */
      readonly timetable?: SharedTimetable | undefined;
      /** How far the clock of the fleet's server is ahead of ours. */
      readonly aheadUs?: number | undefined;
      /** Start of the warm-up; by default there is none. */
      readonly firstUs?: number | undefined;
      readonly startUs: number;
      readonly endUs: number;
    }
  /** Sent when the rate has changed. */
  | {
      readonly type: 'rate';
      /** The new number of reservations to hold ahead. */
      readonly outstanding: number;
    }
  /** Ends the run early. Requests due before `endUs` are still sent. */
  | { readonly type: 'stop'; readonly endUs: number }
  /** Sent when the processors become full, or stop being full. */
  | { readonly type: 'processors'; readonly areFull: boolean };

/** A message from a load thread to the main thread. */
export type LoadEvent =
  /** All code is loaded; the thread waits for `go`. */
  | { readonly type: 'ready' }
  /** It can't get ready, for a reason to show to the user. */
  | { readonly type: 'unready'; readonly reason: string }
  /** The reply to `rate`: all reservations follow the change. */
  | { readonly type: 'followed' }
  | {
      readonly type: 'report';
      /** Admissions since the last report. */
      readonly admissions: Float64Array;
      /** No later report has an earlier instant. */
      readonly throughUs: number;
      readonly counters: RequestCounts;
      readonly waiting: number;
      /** Latencies since the last report, as counted by `RecentLatencies`. */
      readonly latencies: Uint32Array;
    }
  /** The last message: all requests have ended, or the thread must end. */
  | {
      readonly type: 'done';
      readonly admissions: Float64Array;
      readonly tally: TallyRecord;
      /** The requests of the warm-up. */
      readonly warmUp: RequestCounts;
      /** The share of the time for which the event loop was busy. */
      readonly busy: number;
      /** The most requests or calls that it could have in flight. */
      readonly capacity: number;
      /** Why the thread ended early, or why its teardown failed. */
      readonly failure?: string | undefined;
    };
