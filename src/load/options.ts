import type { Arrivals } from './arrivals.ts';
import type { FleetOptions } from './fleet.ts';
import type { Gate } from './gates.ts';
import type { Transport } from './transport.ts';

/** The options of a run. Plain data, because they are sent to the threads. */
export interface LoadOptions {
  /** Absolute http or https URL; undefined for the embedded server. */
  readonly url: string | undefined;
  /** Requests per second over all threads; with a ramp, its final rate. */
  readonly rate: number;
  /** Moves from one rate to the other within `overMs`, then stays there. */
  readonly ramp: Ramp | undefined;
  readonly burst: number;
  /** When requests are due; evenly spaced by default. */
  readonly arrivals?: Arrivals | undefined;
  /** Threads of each process. */
  readonly threads: number;
  /** Processes that send the requests; by default the threads belong to this one. */
  readonly processes?: number | undefined;
  /** Maximum number of connections over all threads. */
  readonly connections: number;
  readonly durationMs: number;
  readonly timeoutMs: number;
  /** How long requests are sent, at the first rate, before any counts. */
  readonly warmupMs: number;
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
  /** How to connect to the target; by default over TCP, with HTTP/1.1. */
  readonly transport?: Transport | undefined;
  /** Bounds that the result has to meet, beside those that hold by default. */
  readonly gates: readonly Gate[];
  /** Whether to record latencies by time, for a report. */
  readonly latencyByTime: boolean;
  /** A module to call at each due instant. Nothing about requests then applies. */
  readonly task?: TaskOptions | undefined;
  /** A limit shared with other processes; `rate` and `burst` then apply to all of them together. */
  readonly fleet?: FleetOptions | undefined;
}

/** A module that the threads call. */
export interface TaskOptions {
  /** The URL of the module. */
  readonly url: string;
  /** What its `setup` gets; cloneable. */
  readonly data: unknown;
  /** The most calls that a thread has in flight. */
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
