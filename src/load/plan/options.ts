import type { RecentPercentiles } from '../measure/latency-counts.ts';
import type { DriveOptions, DriveProgress, HttpTarget, TargetTls } from './drive-options.ts';
import type { RateRamp } from './rate-course.ts';
import type { Arrivals } from './timetable.ts';

/** Options of `drive` that mean the same in a run. */
type Same = 'burst' | 'threads' | 'durationMs' | 'timeoutMs' | 'warmupMs' | 'gates';

/**
 * The options of a run: those of `drive`, checked and complete, and those that only the command has.
 * Plain data: they are posted to the threads.
 */
export interface LoadOptions
  extends Required<Pick<DriveOptions, Same>>,
    Omit<RequestOptions, 'url'> {
  /** Absolute http or https URL. Undefined: the embedded server. */
  readonly url: string | undefined;
  /** Requests per second over all threads; with a ramp, its final rate. Infinity: no limit. */
  readonly rate: number;
  readonly ramp: RateRamp | undefined;
  /** When requests are due. Default: evenly spaced. */
  readonly arrivals?: Arrivals | undefined;
  /** Number of processes to start, with `threads` each. Default: the threads run in this one. */
  readonly processes?: number | undefined;
  /** The rounds of a run without a rate. */
  readonly rounds?: number | undefined;
  /** A module to call at each due instant, instead of sending requests. */
  readonly task?: TaskOptions | undefined;
  /** A limit shared with other processes: `rate` and `burst` then are their totals. */
  readonly fleet?: FleetOptions | undefined;
}

/** The requests of a run or of a thread. */
export interface RequestOptions {
  /** Absolute http or https URL. */
  readonly url: string;
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: Uint8Array | undefined;
  /** Maximum number of connections over all threads of the run, or of the thread. */
  readonly connections: number;
  /** How to connect to the target. Default: HTTP/1.1 over TCP. */
  readonly transport?: Transport | undefined;
}

/** The same options, as text, and as plain data: they are posted to the threads. */
type Plain<T> = { readonly [Name in keyof T]?: Exclude<T[Name], Uint8Array> | undefined };

/** TLS options, for https URLs. */
export type TlsTerms = Plain<TargetTls>;

/** How to connect to the target. */
export interface Transport extends Plain<Pick<HttpTarget, 'socketPath' | 'http2'>> {
  readonly tls?: TlsTerms | undefined;
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

/** The progress of a run, with what the command shows in addition. */
export interface Progress extends DriveProgress {
  /** Requests per second over the last second; undefined before the first report. */
  readonly rateNow: number | undefined;
  /** The current target rate; undefined until it first changes. */
  readonly rateWanted: number | undefined;
  /** Latencies of the last second; undefined if it had no response. */
  readonly latency: RecentPercentiles | undefined;
}

/** What a run calls back, and what ends it. */
export interface RunHooks {
  /** Ends the run early when aborted. */
  readonly stop: AbortSignal;
  readonly onStart?: (url: string) => void;
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Called once the run has started. The given function multiplies the rate by a factor, within the
   * valid rates.
   */
  readonly onSteerable?: (steer: (factor: number) => void) => void;
  /** For tests: replaces the code of the load threads. */
  readonly loadWorker?: URL;
}
