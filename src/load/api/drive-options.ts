import type { Gate } from '../gates.ts';
import type { DriveProgress } from './progress.ts';

/** An HTTP target of {@link drive}. */
export interface HttpTarget {
  /** Absolute http or https URL. */
  readonly url: URL | string;
  /** Default: GET, or POST with a body. */
  readonly method?: string;
  /** Headers to send. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What each request sends. */
  readonly body?: string | Uint8Array;
  /** The most connections over all threads, at least one for each. Default: 64. */
  readonly connections?: number;
}

/** A rate that changes in small steps, then stays. */
export interface RateRamp {
  /** The rate at the start, per second. */
  readonly from: number;
  /** The final rate, per second. */
  readonly to: number;
  /** How long the change takes, in milliseconds. */
  readonly overMs: number;
}

/** The options of {@link drive}. */
export interface DriveOptions<Data = unknown> {
  /**
   * The `file:` or `data:` URL of a module, such as `new URL('./task.mjs', import.meta.url)`, whose
   * default export is called in the threads: see {@link TaskModule}. Give this or `target`.
   */
  readonly task?: URL | string;
  /** The HTTP server to send requests to. */
  readonly target?: HttpTarget;
  /** Given to `setup` of the task in each thread: anything that structured clone can copy. */
  readonly data?: Data;
  /**
   * Calls or requests per second over all threads, from 0.001 to 1,000,000. With Infinity, each
   * thread calls the task again as soon as a call has ended.
   */
  readonly rate?: number;
  /** A rate that changes, in place of `rate`. */
  readonly ramp?: RateRamp;
  /** How many may go at once to catch up after a stall of this client. Default: 1. */
  readonly burst?: number;
  /** From 1 to 256. Default: 1. */
  readonly threads?: number;
  /** From 1 ms to a day; with `rate: Infinity`, of all rounds together. Default: 10,000. */
  readonly durationMs?: number;
  /** How long to call before anything counts. Default: 0; with `rate: Infinity`, 500. */
  readonly warmupMs?: number;
  /**
   * A call that takes longer has failed, as `timed out`; its signal is aborted, and the run goes on
   * without it. Also bounds `teardown`. Default: 5,000.
   */
  readonly timeoutMs?: number;
  /**
   * The most calls of a task that one thread has in flight; others wait, and their latency counts.
   * Default: 1,000. With `rate: Infinity`, how many a thread keeps in flight if the task is
   * asynchronous; default: 1.
   */
  readonly concurrency?: number;
  /** With `rate: Infinity`: rounds to divide the duration into. Default: 5. */
  readonly rounds?: number;
  /**
   * Bounds that the result must meet. Unless you bound them yourself, at most half of the calls may
   * fail, and at least half of the rate must be reached.
   */
  readonly gates?: readonly Gate[];
  /**
   * Ends the run early when aborted; the result then is that of the calls so far. If nothing counts
   * yet, `drive` rejects with the reason.
   */
  readonly signal?: AbortSignal;
  /** Called about four times a second. */
  readonly onProgress?: (progress: DriveProgress) => void;
}
