import type { DriveError } from '../measure/errors.ts';
import type { LatencySlot } from '../measure/latency-timeline.ts';
import type { Machine } from '../measure/machine.ts';
import type { CallCounts } from '../measure/tally.ts';
import type { Times } from '../measure/times.ts';
import type { RateRamp } from '../plan/rate-course.ts';
import type { FitnessResult } from './fitness.ts';
import type { GateResult } from './gates.ts';
import type { Guarantee } from './guarantee.ts';

/** The median and range of a figure over several rounds. */
export interface Spread {
  /** The median over the rounds. */
  readonly median: number;
  /** The lowest value of a round. */
  readonly least: number;
  /** The highest value of a round. */
  readonly most: number;
}

/** One thread in one round. */
export interface RoundThread {
  /** Calls that ended in this round. */
  readonly calls: number;
  /** Milliseconds from its first call to the end of its last. */
  readonly elapsedMs: number;
}

/** One round. All threads start it at the same instant. */
export interface Round {
  /** Total of all threads. */
  readonly callsPerSecond: number;
  /** The threads' total time divided by their calls, in nanoseconds. Null without a call. */
  readonly nsPerCall: number | null;
  /** One per thread; null if the thread crashed before it could report. */
  readonly threads: readonly (RoundThread | null)[];
}

/** The figures of a run with `rate: Infinity`. */
export interface ClosedFigures {
  /** The rounds, in order. */
  readonly rounds: readonly Round[];
  /** Total of all threads. Null without a round. */
  readonly callsPerSecond: Spread | null;
  /** Thread time per call, in nanoseconds. Null without a call. */
  readonly nsPerCall: Spread | null;
  /** Processor use of the whole machine during the rounds, from 0 to 1. */
  readonly processors: number;
}

/** Failures of one kind over time. */
export interface FailuresByTime {
  /** The kind of error, or the status. */
  readonly kind: string;
  /** The length of a slot. */
  readonly slotMs: number;
  /** Failures per slot, from the start to the slot of the last one. */
  readonly counts: readonly number[];
}

/** The verdict on a run. */
export interface DriveVerdict {
  /** True if the guarantee held, a call succeeded, no thread crashed, and all gates passed. */
  readonly ok: boolean;
  /** One sentence per problem. Empty if `ok`. */
  readonly reasons: readonly string[];
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
  /** `listed`: the file they come from, if any. */
  readonly name?: string;
}

/** The requests of a target. */
export interface RequestTerms {
  /** The HTTP method. */
  readonly method: string;
  /** Pairs of name and value. Unless the header is known to be harmless, a hash of its value. */
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
  /** Number of threads, in each process. */
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

/**
 * For each percentile of the latency, the variance of the share of slower calls: as a multiple of
 * that of independent calls, at least 1. `zerotime compare` widens its intervals by the square root.
 */
export interface DesignEffects {
  /** At the median. */
  readonly p50: number;
  /** At 90 %. */
  readonly p90: number;
  /** At 99 %. */
  readonly p99: number;
  /** At 99.9 %. */
  readonly 'p99.9': number;
}

/** The result of {@link drive}. Plain data: `JSON.stringify` stores all of it. */
export interface DriveResult {
  /** `closed` with `rate: Infinity`, otherwise `open`. */
  readonly loop: 'open' | 'closed';
  /** The verdict. Read it before any figure. */
  readonly verdict: DriveVerdict;
  /** The URL of the task or of the target, with secrets replaced by `***`. */
  readonly url: string;
  /** Whether the target is the command's own server. Always false for `drive`. */
  readonly embeddedServer: boolean;
  /** Number of processes. Always 1 for `drive`. */
  readonly processes: number;
  /** The version of zerotime. */
  readonly zerotime: string;
  /** The version of Node.js. */
  readonly node: string;
  /** The machine of this client. */
  readonly machine: Machine;
  /** The options of the run. */
  readonly options: DriveTerms;
  /** Start of the run, after the warm-up, in ISO 8601. */
  readonly startedAt: string;
  /**
   * Whether the run ended early: by `signal`, or because a thread ended. Also true if all calls
   * came due before `signal`, which then cut those in flight.
   */
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
  /** The lowest and the highest requested rate; null if it never changed. */
  readonly wantedRangePerSecond: readonly [lowest: number, highest: number] | null;
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
  /** The latencies of each part of the run; empty with `rate: Infinity`. */
  readonly latencyByTime: readonly LatencySlot[];
  /** How much stalls and bursts widen the percentiles; null with `rate: Infinity`. */
  readonly latencyDesignEffects: DesignEffects | null;
  /** The failures by due time, with `rate: Infinity` none: the kind of error or the status. */
  readonly failuresByTime: readonly FailuresByTime[];
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
   * From start to end. With `rate: Infinity`, calls of 1 us or longer are samples by themselves.
   * Shorter calls have the mean of their batch of about 25 us. If such a batch takes 25 us longer
   * than usual, the excess counts as one long call, exact to 25 us; several long calls in one batch
   * count as one if each takes less than about 10 ms.
   */
  readonly response: Times;
}
