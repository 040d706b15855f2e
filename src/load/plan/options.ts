import type { DriveOptions } from './drive-options.ts';
import type { RateRamp } from './rate-course.ts';
import type { Arrivals } from './timetable.ts';
import type { Transport } from './transport.ts';

/** Options of `drive` that mean the same in a run. */
type Same = 'burst' | 'threads' | 'durationMs' | 'timeoutMs' | 'warmupMs' | 'gates';

/**
 * The options of a run: those of `drive`, checked and complete, and those that only the command has.
 * Plain data: they are posted to the threads.
 */
export interface LoadOptions extends Required<Pick<DriveOptions, Same>> {
  /** Absolute http or https URL. Undefined: the embedded server. */
  readonly url: string | undefined;
  /** Requests per second over all threads; with a ramp, its final rate. Infinity: no limit. */
  readonly rate: number;
  readonly ramp: RateRamp | undefined;
  /** When requests are due. Default: evenly spaced. */
  readonly arrivals?: Arrivals | undefined;
  /** Number of processes to start, with `threads` each. Default: the threads run in this one. */
  readonly processes?: number | undefined;
  /** Maximum number of connections over all threads. */
  readonly connections: number;
  /** The rounds of a run without a rate. */
  readonly rounds?: number | undefined;
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
  /** How to connect to the target. Default: HTTP/1.1 over TCP. */
  readonly transport?: Transport | undefined;
  /** A module to call at each due instant, instead of sending requests. */
  readonly task?: TaskOptions | undefined;
  /** A limit shared with other processes: `rate` and `burst` then are their totals. */
  readonly fleet?: FleetOptions | undefined;
}

/** A task: a module that the threads call. */
export interface TaskOptions {
  /** The URL of the module. */
  readonly url: string;
  /** Passed to `setup`. Must be cloneable. */
  readonly data: unknown;
  /** Maximum number of calls in flight per thread. */
  readonly concurrency: number;
}

/** A limit shared by several processes. Plain data: it is posted to the threads. */
export interface FleetOptions {
  /** The URL of a Redis or Valkey server. */
  readonly url: string;
  readonly key: string;
  readonly rate: number;
  readonly burst: number;
}

export type Header = readonly [name: string, value: string];

/** The number of threads over all processes. */
export function threadsOf({ threads, processes = 1 }: Pick<LoadOptions, 'threads' | 'processes'>) {
  return threads * processes;
}
