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
  /** Set to a value other than 0 to end early: a thread in a tight loop receives no messages. */
  readonly stop: Int32Array<SharedArrayBuffer>;
  /** The words of the gate before each round. */
  readonly gate: BigInt64Array<SharedArrayBuffer>;
}

/** A message from the main thread. */
export type ClosedCommand =
  /** Calls for `lengthUs`, from a start that all threads agree on at the gate. */
  | {
      readonly type: 'round';
      /** When it starts even if a thread is not at the gate. */
      readonly latestUs: number;
      readonly lengthUs: number;
      /** Whether the round is measured. */
      readonly counts: boolean;
    }
  | { readonly type: 'end' };

/** The figures of one thread in one round. */
export interface ThreadRound {
  readonly counters: RequestCounts;
  /** From its first call to the end of its last. */
  readonly elapsedUs: number;
}

/** The figures of a thread over all measured rounds. */
export interface ClosedRecord {
  readonly errors: readonly ErrorCount[];
  /** Histogram of nanoseconds, in HdrHistogram's compressed encoding. */
  readonly histogram: string;
}

/** A message to the main thread. */
export type ClosedEvent =
  | { readonly type: 'ready' }
  /** It can't get ready, for a reason to show to the user. */
  | { readonly type: 'unready'; readonly reason: string }
  /** The current round so far. */
  | { readonly type: 'progress'; readonly round: ThreadRound }
  | { readonly type: 'round'; readonly round: ThreadRound }
  /** The last message. */
  | {
      readonly type: 'done';
      readonly record: ClosedRecord;
      /** The round that it could not finish. */
      readonly round?: ThreadRound | undefined;
      /** Why the thread ended early, or why its teardown failed. */
      readonly failure?: string | undefined;
    };
