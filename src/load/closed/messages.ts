import type { ErrorCount } from '../error-counts.ts';
import type { TaskOptions } from '../options.ts';
import type { RequestCounts } from '../tally.ts';

/** The `workerData` of a thread of a closed loop. */
export interface ClosedThreadData {
  readonly task: TaskOptions;
  /** The index of the thread. */
  readonly thread: number;
  readonly threads: number;
  readonly timeoutMs: number;
  /** Not 0 when the run ends early: a thread in a tight loop gets no messages. */
  readonly stop: Int32Array<SharedArrayBuffer>;
}

/** A message from the main thread. */
export type ClosedCommand =
  /** Calls from one instant, the same for all threads, to another. */
  | {
      readonly type: 'round';
      readonly startUs: number;
      readonly endUs: number;
      /** Whether it is one of the rounds that are measured. */
      readonly counts: boolean;
    }
  | { readonly type: 'end' };

/** What one thread did in a round. */
export interface ThreadRound {
  readonly counters: RequestCounts;
  /** From its first call to the end of its last. */
  readonly elapsedUs: number;
}

/** All measured rounds of a thread. */
export interface ClosedRecord {
  readonly errors: readonly ErrorCount[];
  /** Nanoseconds in HdrHistogram's compressed encoding. */
  readonly histogram: string;
}

/** A message to the main thread. */
export type ClosedEvent =
  | { readonly type: 'ready' }
  /** It can't get ready; the reason is for the user. */
  | { readonly type: 'unready'; readonly reason: string }
  /** The counts of the round so far. */
  | { readonly type: 'progress'; readonly counters: RequestCounts }
  | { readonly type: 'round'; readonly round: ThreadRound }
  /** The last message. */
  | {
      readonly type: 'done';
      readonly record: ClosedRecord;
      /** The round that it could not end. */
      readonly round?: ThreadRound | undefined;
      /** Why the thread ended early, or what went wrong in the end. */
      readonly failure?: string | undefined;
    };
