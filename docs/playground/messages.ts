import type { LimiterHandle } from '../../src/index.ts';
import type { StreamOptions } from './stream.ts';

/** A simulated server: a semaphore, and how long a call holds its permit on average. */
export interface ServerData {
  readonly handle: LimiterHandle<'semaphore'>;
  readonly serviceMs: number;
}

/** A limiter in use, as a worker knows it. */
export interface LaneData {
  readonly id: number;
  readonly handle: LimiterHandle;
  /** Behind a semaphore. */
  readonly server: ServerData | undefined;
}

/** From the page to a worker. */
export type Order =
  | {
      readonly type: 'run';
      readonly stream: StreamOptions;
      readonly lanes: readonly LaneData[];
      readonly waitMs: number;
    }
  | { readonly type: 'pause' }
  /** Stalls for this long, in the middle of its work. */
  | { readonly type: 'stall'; readonly forMs: number };

/** The outcomes of the requests of one limiter since the last report. */
export interface LaneReport {
  readonly id: number;
  /**
   * The admissions: each took place between these two instants, in microseconds of the system's
   * clock.
   */
  readonly fromUs: Float64Array;
  readonly toUs: Float64Array;
  readonly refused: number;
}

/** From a worker to the page. */
export interface WorkerReport {
  /** When its requests were due, in microseconds of the system's clock. */
  readonly offeredUs: Float64Array;
  readonly lanes: readonly LaneReport[];
  /** Admissions of later reports are at or after this instant. */
  readonly throughUs: number;
}
