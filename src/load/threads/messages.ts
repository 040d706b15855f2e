import type { ValueCounts } from '../measure/latency-counts.ts';
import type { CallCounts, TallyRecord } from '../measure/tally.ts';
import type { FleetOptions, RequestOptions, TaskOptions } from '../plan/options.ts';
import type { SharedTimetable } from '../plan/timetable.ts';

/** The part of `workerData` that all threads get. */
export interface ThreadData {
  readonly timeoutMs: number;
  /** Number of reservations to hold ahead. */
  readonly outstanding: number;
  /** The limit shared through a server, if any. */
  readonly fleet?: FleetOptions | undefined;
}

/** The `workerData` of a thread that sends requests. */
export interface LoadThreadData extends ThreadData, RequestOptions {
  /** How it warms up its code before the run. */
  readonly rehearsal: {
    /** The embedded server's URL: the target must only get requests that are in the result. */
    readonly url: string;
    readonly requests: number;
  };
  /** Connections to open before the run, at least one. */
  readonly openAhead: number;
}

/** The task that a thread calls. */
export interface ThreadTask extends TaskOptions {
  /** The index of the thread. */
  readonly thread: number;
  readonly threads: number;
}

/** The `workerData` of a thread that calls a task at a rate. */
export interface TaskThreadData extends ThreadData {
  readonly task: ThreadTask;
  /** The call counter shared by all threads. */
  readonly counter: BigInt64Array<SharedArrayBuffer>;
}

/** The `workerData` of a thread that calls a task as fast as it can. */
export interface RoundThreadData {
  readonly task: ThreadTask;
  readonly timeoutMs: number;
  /** Set to a value other than 0 to end early: a thread in a tight loop receives no messages. */
  readonly stop: Int32Array<SharedArrayBuffer>;
  /** Counts up every few milliseconds: a thread in a tight loop has no timers. */
  readonly ticks: Int32Array<SharedArrayBuffer>;
  /** The words of the gate before each round. */
  readonly gate: BigInt64Array<SharedArrayBuffer>;
}

/** The figures of one thread in one round. */
export interface ThreadRound {
  readonly counters: CallCounts;
  /** From its first call to the end of its last. */
  readonly elapsedUs: number;
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
  | { readonly type: 'processors'; readonly areFull: boolean }
  /** Calls for `lengthUs`, from a start that all threads agree on at the gate. */
  | {
      readonly type: 'round';
      /** When it starts even if a thread is not at the gate. */
      readonly latestUs: number;
      readonly lengthUs: number;
      /** Whether the round is measured. */
      readonly counts: boolean;
    }
  /** No more rounds follow. */
  | { readonly type: 'end' };

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
      readonly admissions: Float64Array<ArrayBuffer>;
      /** No later report has an earlier instant. */
      readonly throughUs: number;
      readonly counters: CallCounts;
      readonly waiting: number;
      /** Latencies since the last report. */
      readonly latencies: ValueCounts;
    }
  /** The current round, so far or as a whole. */
  | { readonly type: 'round'; readonly round: ThreadRound; readonly isOver: boolean }
  /** The last message: all requests have ended, or the thread must end. */
  | ({ readonly type: 'done' } & LastReport);

/** The results of a thread. */
export interface LastReport {
  /** Admissions since the report before. */
  readonly admissions: Float64Array<ArrayBuffer>;
  readonly tally: TallyRecord;
  /** At a rate: the requests of the warm-up. */
  readonly warmUp?: CallCounts;
  /** At a rate: the share of the time for which the event loop was busy. */
  readonly busy?: number;
  /** At a rate: the most requests or calls that it could have in flight. */
  readonly capacity?: number;
  /** At a rate: whether one ever had to wait for another to end. */
  readonly wasFull?: boolean;
  /** The round that it could not finish. */
  readonly round?: ThreadRound | undefined;
  /** Why the thread ended early, or why its teardown failed. */
  readonly failure?: string | undefined;
}

// Messages between the main process and the processes it starts. A thread is identified by its
// index within its process.

/** A message from the main process. */
export type ProcessCommand =
  | {
      readonly type: 'start';
      readonly thread: number;
      /** The URL of the thread's code. */
      readonly code: string;
      readonly data: ThreadData;
    }
  | { readonly type: 'command'; readonly thread: number; readonly command: LoadCommand };

/** A message to the main process. */
export type ProcessEvent =
  /** The process has opened the region. */
  | { readonly type: 'up' }
  /** The process can't open the region, and ends. */
  | { readonly type: 'down'; readonly reason: string }
  | {
      readonly type: 'thread';
      readonly thread: number;
      /** The event that its worker has emitted, with a {@link LoadEvent}, an error's text or a code. */
      readonly event: 'message' | 'error' | 'exit';
      readonly value: unknown;
      /** Processor time used by the process, in milliseconds. */
      readonly cpuMs: number;
    };
