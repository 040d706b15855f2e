import type { Gate } from '../judge/gates.ts';
import type { RateRamp } from './rate-course.ts';

/** An HTTP target of {@link drive}. */
export interface HttpTarget {
  /** Absolute http or https URL. */
  readonly url: URL | string;
  /** Default: GET, or POST with a body. */
  readonly method?: string;
  /** Request headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of each request. Default: none. */
  readonly body?: string | Uint8Array;
  /**
   * Maximum number of connections over all threads, at least one per thread, up to 65,536. Default:
   * 64, or one per thread if there are more threads. With `http2`, of sessions; default: one per
   * thread. A session carries as many requests at once as the server allows, or 100 if it sets no
   * maximum.
   */
  readonly connections?: number;
  /** Use HTTP/2: by ALPN for https, with prior knowledge for http. Default: false. */
  readonly http2?: boolean;
  /** Path of a Unix domain socket to connect to, instead of the URL's host and port. */
  readonly socketPath?: string;
  /** TLS options, for an https URL. */
  readonly tls?: TargetTls;
}

/** TLS options of a target. Certificates and keys are in PEM. */
export interface TargetTls {
  /** Accept any server certificate. Default: false. */
  readonly insecure?: boolean;
  /** The client certificate; needs `key`. */
  readonly cert?: string | Uint8Array;
  /** The private key of `cert`. */
  readonly key?: string | Uint8Array;
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string | Uint8Array;
  /** The server name for the handshake. Default: the host of the requests. */
  readonly servername?: string;
}

/** When calls come due. */
export type DriveArrivals = EvenArrivals | PoissonArrivals | ListedArrivals;

/** Calls 1/rate apart, the default. */
export interface EvenArrivals {
  /** The kind of arrivals. */
  readonly kind: 'even';
}

/** Calls at random and independent of each other, exactly as many as the rate says. */
export interface PoissonArrivals {
  /** The kind of arrivals. */
  readonly kind: 'poisson';
  /** An integer from 0 to 2^32 - 1; the same seed gives the same instants. Default: random. */
  readonly seed?: number;
}

/** Calls at given instants, which replace `rate` and, by default, `durationMs`. */
export interface ListedArrivals {
  /** The kind of arrivals. */
  readonly kind: 'listed';
  /** Milliseconds since the start of the run, ascending. */
  readonly instantsMs: readonly number[] | Float64Array;
}

/** Options of {@link drive}. */
export interface DriveOptions<Data = unknown> {
  /**
   * `file:` or `data:` URL of a module, such as `new URL('./task.mjs', import.meta.url)`. The
   * threads call its default export: see {@link TaskModule}. Give this or `target`.
   */
  readonly task?: URL | string;
  /** HTTP server to send requests to. */
  readonly target?: HttpTarget;
  /** Passed to the task's `setup` in each thread: any value that structured clone can copy. */
  readonly data?: Data;
  /**
   * Calls or requests per second over all threads, from 0.001 to 1,000,000. With Infinity, each
   * thread calls the task again as soon as a call ends.
   */
  readonly rate?: number;
  /** A changing rate, instead of `rate`. */
  readonly ramp?: RateRamp;
  /** When calls come due. Default: 1/rate apart. */
  readonly arrivals?: DriveArrivals;
  /**
   * Calls that may start at once to catch up after a stall of this client, from 1 to 1,000,000.
   * Default: 1. An error with `ramp`, and with arrivals that are not even.
   */
  readonly burst?: number;
  /** Number of threads, from 1 to 256. Default: 1. */
  readonly threads?: number;
  /** Length of the run, or of all rounds together, from 1 ms to a day. Default: 10,000. */
  readonly durationMs?: number;
  /**
   * Length of a warm-up that does not count, up to a day; 0: none. Default: 0; with
   * `rate: Infinity`, 500. An error with listed arrivals.
   */
  readonly warmupMs?: number;
  /**
   * A call that takes longer fails as `timed out`: its signal is aborted, and the run continues.
   * Also bounds `teardown`. From 1 ms to a day. Default: 5,000.
   */
  readonly timeoutMs?: number;
  /**
   * Maximum number of a task's calls in flight per thread, from 1 to 1,000,000. Further calls wait,
   * and their latency counts. Default: 1,000. With `rate: Infinity`, the number of calls that each
   * thread keeps in flight if the task is asynchronous; default: 1.
   */
  readonly concurrency?: number;
  /** With `rate: Infinity`: number of rounds, from 1 to 1,000. Default: 5. */
  readonly rounds?: number;
  /**
   * Bounds on the result. By default at most half of the calls may fail, and at least 99.9 % of the
   * rate must be reached, or all calls but one.
   */
  readonly gates?: readonly Gate[];
  /**
   * Ends the run early when aborted, with the result so far. Calls that are still in flight a second
   * later fail as `interrupted`. If nothing counts yet, `drive` rejects with the abort reason.
   */
  readonly signal?: AbortSignal;
  /** Called about four times a second. */
  readonly onProgress?: (progress: DriveProgress) => void;
}

/** The progress of a run. */
export interface DriveProgress {
  /** Milliseconds since the first call that counts. */
  readonly elapsedMs: number;
  /** Calls that came due so far; with `rate: Infinity`, calls made. */
  readonly calls: number;
  /** Calls that have failed so far. */
  readonly failed: number;
  /** Calls in flight, or due and not started. */
  readonly waiting: number;
  /** True when no more calls come due and the run waits for those in flight. */
  readonly finishing: boolean;
}
