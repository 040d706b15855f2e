import type { Gate } from '../gates.ts';
import type { ClosedFigures } from './closed-figures.ts';
import type { RateRamp } from './drive-options.ts';
import type { FitnessResult } from './fitness-result.ts';
import type { Times } from './times.ts';

/** How calls ended. */
export interface CallCounts {
  /** Calls made. */
  readonly sent: number;
  /** Calls that returned or resolved; for a target, responses with a status below 400. */
  readonly succeeded: number;
  /** Calls that threw, rejected, timed out or never started; other responses and errors. */
  readonly failed: number;
}

/** The verdict on a run. */
export interface DriveVerdict {
  /** True if the guarantee held, a call succeeded, no thread crashed, and all gates passed. */
  readonly ok: boolean;
  /** One sentence per problem. Empty if `ok`. */
  readonly reasons: readonly string[];
}

/** Whether at most burst + rate x t calls came due in any interval of length t. */
export interface Guarantee {
  /** Whether the guarantee held. */
  readonly held: boolean;
  /** Number of intervals checked: one per pair of calls. */
  readonly intervals: number;
  /** Rounding tolerance of the check. */
  readonly toleranceInTokens: number;
  /** The interval closest to its maximum; null without a call. */
  readonly tightest: TightestInterval | null;
}

/** An interval and the calls that came due in it. */
export interface TightestInterval {
  /** Its start, in milliseconds after the first call. */
  readonly startsAfterMs: number;
  /** Milliseconds from its first call to its last. */
  readonly lengthMs: number;
  /** Calls that came due in it. */
  readonly admitted: number;
  /** Calls that the guarantee allows in it. */
  readonly allowed: number;
}

/** The verdict of one gate. */
export interface GateResult {
  /** The gate. */
  readonly gate: Gate;
  /** Whether the result meets the gate. */
  readonly passed: boolean;
  /** The measured value: a latency in milliseconds, or a share from 0 to 1. Null without a call. */
  readonly actual: number | null;
}

/** Calls that failed with the same kind of error. */
export interface DriveError {
  /**
   * For a task: the error's name and `code`, if any; `timed out`; `unsent`, due but never started;
   * or `thread ended`, in flight when its thread exited. For a target, for example
   * `connection refused`.
   */
  readonly kind: string;
  /** Number of these calls. */
  readonly count: number;
  /** The message of the first one. */
  readonly example: string;
}

/** The figures of one thread. */
export interface ThreadFigures {
  /** Calls that came due in this thread; with `rate: Infinity`, calls made. */
  readonly admitted: number;
  /** Its share of all calls, from 0 to 1. */
  readonly share: number;
  /** How they ended. */
  readonly calls: CallCounts;
  /**
   * Why the thread ended early, or why its `teardown` failed; null otherwise. Anything it had not
   * reported is missing from all figures.
   */
  readonly crash: string | null;
}

/** Calls that blocked their thread for 0.1 s or more. */
export interface BlockedFigures {
  /** Number of these calls. */
  readonly calls: number;
  /** The longest block. */
  readonly longestMs: number;
}

/** When the calls of a run came due: see {@link DriveArrivals}. */
export interface ArrivalsResult {
  /** The kind of arrivals. */
  readonly kind: 'even' | 'poisson' | 'listed';
  /** `poisson`: the seed that repeats them. */
  readonly seed?: number;
  /** `listed`: how many instants there are. */
  readonly count?: number;
}

/** The requests of a target. */
export interface RequestTerms {
  /** The HTTP method. */
  readonly method: string;
  /** The headers as pairs of name and value; values that may be secret are `***`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Length of the body, 0 without one. */
  readonly bodyBytes: number;
  /** Whether they use HTTP/2. */
  readonly http2: boolean;
  /** Path of the Unix domain socket; null over TCP. */
  readonly unixSocket: string | null;
  /** Maximum number of connections over all threads; with HTTP/2, of sessions. */
  readonly connections: number;
}

/**
 * The options that determine the load, given or by default. `zerotime compare` refuses runs in
 * which they differ.
 */
export interface DriveTerms {
  /** The rate, or the final one of a ramp; `max` with `rate: Infinity`. */
  readonly ratePerSecond: number | 'max';
  /** The ramp; null without one. */
  readonly ramp: RateRamp | null;
  /** Calls that may start at once; null with `rate: Infinity`. */
  readonly burst: number | null;
  /** Number of threads. */
  readonly threads: number;
  /** Maximum number of a task's calls in flight per thread; null for a target. */
  readonly concurrency: number | null;
  /**
   * Length of a task's `data`: as JSON, plus its typed arrays. 0 without data; null for a target,
   * or if the data has no JSON form.
   */
  readonly dataBytes: number | null;
  /** The requests of a target; null for a task. */
  readonly request: RequestTerms | null;
  /** Number of rounds; null at a finite rate. */
  readonly rounds: number | null;
  /** Length of the run in milliseconds. */
  readonly durationMs: number;
  /** Timeout of a call in milliseconds. */
  readonly timeoutMs: number;
  /** Length of the warm-up in milliseconds. */
  readonly warmupMs: number;
}

/** The result of {@link drive}. Plain data: `JSON.stringify` stores all of it. */
export interface DriveResult {
  /** `closed` with `rate: Infinity`, otherwise `open`. */
  readonly loop: 'open' | 'closed';
  /** The verdict. Read it before any figure. */
  readonly verdict: DriveVerdict;
  /** The URL of the task or of the target. */
  readonly url: string;
  /** The version of Node.js. */
  readonly node: string;
  /** The options of the run. */
  readonly options: DriveTerms;
  /** Time of the first call, in ISO 8601. */
  readonly startedAt: string;
  /** Whether the run ended early: by `signal`, or because a thread ended. */
  readonly interrupted: boolean;
  /**
   * From the first slot of the schedule to the end of the last; with `rate: Infinity`, the sum of
   * all rounds.
   */
  readonly elapsedMs: number;
  /** The calls of the warm-up. They count nowhere else. */
  readonly warmUp: CallCounts;
  /** Calls that came due; with `rate: Infinity`, calls made. */
  readonly admitted: number;
  /** How they ended. */
  readonly calls: CallCounts;
  /** Calls made per second, over all threads. */
  readonly achievedRatePerSecond: number;
  /** The requested rate, or its mean if it changed; null with `rate: Infinity`. */
  readonly wantedRatePerSecond: number | null;
  /** When calls came due; null with `rate: Infinity`. */
  readonly arrivals: ArrivalsResult | null;
  /** Whether the rate limit held; null with `rate: Infinity`. */
  readonly guarantee: Guarantee | null;
  /** The verdicts of all gates, including the default ones. */
  readonly gates: readonly GateResult[];
  /** Whether this client was fit to measure; null with `rate: Infinity`. */
  readonly fitness: FitnessResult | null;
  /** Responses by status; empty for a task. */
  readonly statusCodes: Readonly<Record<string, number>>;
  /** Failed calls by kind. */
  readonly errors: readonly DriveError[];
  /** Calls that blocked their thread, whatever their outcome. Null, not counted, with `rate: Infinity`. */
  readonly blocked: BlockedFigures | null;
  /** How long calls took. */
  readonly times: DriveTimes;
  /** The figures of each thread. */
  readonly threads: readonly ThreadFigures[];
  /** Calls that came due in each 100 ms; empty with `rate: Infinity`. */
  readonly admittedPer100Ms: readonly number[];
  /** The rounds; null at a finite rate. */
  readonly closed: ClosedFigures | null;
}

/**
 * The times of all calls, whatever their outcome. With `rate: Infinity`, only `response` has
 * values.
 */
export interface DriveTimes {
  /** From the due instant to the end of the call. */
  readonly latency: Times;
  /** From the due instant until this client noticed it. */
  readonly clientLag: Times;
  /**
   * From then until it could start: a connection was free, or fewer than `concurrency` calls were
   * in flight.
   */
  readonly queued: Times;
  /**
   * From start to end. With `rate: Infinity`, a sample is the mean of the calls between two clock
   * readings, about 25 us apart; a longer call is a sample by itself.
   */
  readonly response: Times;
}
