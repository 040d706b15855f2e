import type { Arrivals } from './arrivals.ts';
import type { FleetOptions } from './fleet.ts';
import type { Gate } from './gates.ts';
import type { Transport } from './transport.ts';

/** The options of a run. Plain data: they are posted to the threads. */
export interface LoadOptions {
  /** Absolute http or https URL. Undefined: the embedded server. */
  readonly url: string | undefined;
  /** Requests per second over all threads; with a ramp, its final rate. */
  readonly rate: number;
  /** Moves from one rate to another within `overMs`, then stays there. */
  readonly ramp: Ramp | undefined;
  readonly burst: number;
  /** When requests are due. Default: evenly spaced. */
  readonly arrivals?: Arrivals | undefined;
  /** Threads of each process. */
  readonly threads: number;
  /** Number of processes to start. Default: the threads run in this one. */
  readonly processes?: number | undefined;
  /** Maximum number of connections over all threads. */
  readonly connections: number;
  readonly durationMs: number;
  readonly timeoutMs: number;
  /** How long to send at the initial rate before anything counts. */
  readonly warmupMs: number;
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
  /** How to connect to the target. Default: HTTP/1.1 over TCP. */
  readonly transport?: Transport | undefined;
  /** Bounds on the result, in addition to the default ones. */
  readonly gates: readonly Gate[];
  /** Whether to record latencies over time, for a report. */
  readonly latencyByTime: boolean;
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

export interface Ramp {
  readonly from: number;
  readonly to: number;
  readonly overMs: number;
}

export type Header = readonly [name: string, value: string];

/** The number of threads over all processes. */
export function threadsOf({ threads, processes = 1 }: Pick<LoadOptions, 'threads' | 'processes'>) {
  return threads * processes;
}

/** More than one slot per microsecond would exceed the clock's resolution. */
export const MAX_RATE = 1e6;
export const MIN_RATE = 1e-3;
