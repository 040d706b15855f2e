import type { FleetOptions } from './fleet.ts';
import type { LoadOptions, TaskOptions } from './options.ts';
import type { SharedSchedule } from './scheduled-slots.ts';
import type { RequestCounts, TallyRecord } from './tally.ts';
import type { Transport } from './transport.ts';

/** How a thread gets its code compiled before the run. */
export interface Rehearsal {
  /** The embedded server, so that the target only gets requests that are in the result. */
  readonly url: string;
  readonly requests: number;
  readonly request: RequestParts;
  readonly transport?: Transport | undefined;
}

/** What is sent, apart from where to. */
type RequestParts = Pick<LoadOptions, 'method' | 'headers' | 'body'>;

/** What every thread needs to know. */
export interface ThreadData {
  readonly timeoutMs: number;
  /** Number of reservations that the thread holds ahead. */
  readonly outstanding: number;
  /** Whether to also record latencies by time. */
  readonly latencyByTime: boolean;
  /** The shared limit, if it is not the bucket of this process. */
  readonly fleet?: FleetOptions | undefined;
}

/** The `workerData` of a thread that sends requests. */
export interface LoadThreadData extends ThreadData {
  readonly url: string;
  readonly rehearsal: Rehearsal;
  /** Connections of this thread. */
  readonly connections: number;
  /** How many of them to open before the run, at least one. */
  readonly openAhead: number;
  readonly request: RequestParts;
  /** How to connect to the target; by default over TCP, with HTTP/1.1. */
  readonly transport?: Transport | undefined;
}

/** The module that a thread calls. */
interface ThreadTask extends TaskOptions {
  /** The index of the thread. */
  readonly thread: number;
  readonly threads: number;
  /** Counts the calls of all threads. */
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
      /** The schedule, if it is not that of the bucket. */
      readonly schedule?: SharedSchedule | undefined;
      /** How far the clock of the fleet's server is ahead of ours. */
      readonly aheadUs?: number | undefined;
      /** When the warm-up begins, whose requests don't count; by default there is none. */
      readonly firstUs?: number | undefined;
      readonly startUs: number;
      readonly endUs: number;
    }
  /** The rate has changed. */
  | {
      readonly type: 'rate';
      /** Number of reservations to hold ahead from now on. */
      readonly outstanding: number;
    }
  /** Ends the run early. Requests due before `endUs` are still sent. */
  | { readonly type: 'stop'; readonly endUs: number }
  /** Whether the processors of this machine have no time left. */
  | { readonly type: 'processors'; readonly areFull: boolean };

/** A message from a load thread to the main thread. */
export type LoadEvent =
  /** All code is loaded; the thread waits for `go`. */
  | { readonly type: 'ready' }
  /** It can't get ready; the reason is for the user. */
  | { readonly type: 'unready'; readonly reason: string }
  /** The answer to `rate`: all reservations follow the change. */
  | { readonly type: 'followed' }
  | {
      readonly type: 'report';
      /** Instants admitted since the last report. */
      readonly admissions: Float64Array;
      /** Instants of later reports are at or after this one. */
      readonly throughUs: number;
      readonly counters: RequestCounts;
      readonly waiting: number;
      /** Latencies since the last report: as counted by `RecentLatencies`. */
      readonly latencies: Uint32Array;
    }
  /** The last message: all requests have ended, or the thread has to. */
  | {
      readonly type: 'done';
      readonly admissions: Float64Array;
      readonly tally: TallyRecord;
      /** The requests of the warm-up. */
      readonly warmUp: RequestCounts;
      /** The share of the time in which the event loop was busy. */
      readonly busy: number;
      /** Why the thread ended early, or what went wrong in the end. */
      readonly failure?: string | undefined;
    };
