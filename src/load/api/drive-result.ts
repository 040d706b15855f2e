import type { Gate } from '../gates.ts';
import type { ClosedFigures } from './closed-figures.ts';
import type { FitnessResult } from './fitness-result.ts';
import type { Times } from './times.ts';

/** How calls ended. */
export interface CallCounts {
  /** Calls made. */
  readonly sent: number;
  /** Calls that returned or resolved, and responses with a status below 400. */
  readonly succeeded: number;
  /** All others: those that threw, were rejected, timed out or were never begun. */
  readonly failed: number;
}

/** What to know before reading any figure. */
export interface DriveVerdict {
  /** Whether the guarantee held, some call succeeded, all threads lived, and all gates passed. */
  readonly ok: boolean;
  /** What is wrong: a sentence for each. Empty if `ok`. */
  readonly reasons: readonly string[];
}

/** Whether the limiter kept its promise: in any time t at most burst + rate x t calls came due. */
export interface Guarantee {
  /** Whether it did. */
  readonly held: boolean;
  /** How many intervals were checked: one for each pair of calls. */
  readonly intervals: number;
  /** Allowance for rounding. */
  readonly toleranceInTokens: number;
  /** The interval closest to its limit; null without a call. */
  readonly tightest: TightestInterval | null;
}

/** An interval, and how many calls may come due in it. */
export interface TightestInterval {
  /** Its start, counted from the first call. */
  readonly startsAfterMs: number;
  /** From its first call to its last. */
  readonly lengthMs: number;
  /** Calls that came due in it. */
  readonly admitted: number;
  /** The most that may. */
  readonly allowed: number;
}

/** How a run did at a gate. */
export interface GateResult {
  /** The gate. */
  readonly gate: Gate;
  /** Whether the result meets it. */
  readonly passed: boolean;
  /** Milliseconds of a latency, otherwise a share from 0 to 1. Null without a call. */
  readonly actual: number | null;
}

/** Calls that failed in the same way. */
export interface DriveError {
  /**
   * For a task, the name of the error and its `code`, if it has one; `timed out`; `unsent`, due and
   * never begun; `thread ended`, in flight when its thread exited. For a target, such as
   * `connection refused`.
   */
  readonly kind: string;
  /** How many. */
  readonly count: number;
  /** The message of the first. */
  readonly example: string;
}

/** What one thread did. */
export interface ThreadFigures {
  /** Calls that came due in it; with `rate: Infinity`, calls made. */
  readonly admitted: number;
  /** That as a share of all, from 0 to 1. */
  readonly share: number;
  /** How they ended. */
  readonly calls: CallCounts;
  /**
   * Why the thread ended early, or why its `teardown` failed; null if all went well. What it had not
   * reported by then is missing from all figures.
   */
  readonly crash: string | null;
}

/** Calls that kept their thread from everything else for 0.1 s or more. */
export interface BlockedFigures {
  /** How many. */
  readonly calls: number;
  /** The longest time. */
  readonly longestMs: number;
}

/** The result of {@link drive}. Plain data: `JSON.stringify` stores all of it. */
export interface DriveResult {
  /** `open`: calls at a set rate. `closed`: with `rate: Infinity`. */
  readonly loop: 'open' | 'closed';
  /** What to know before reading any figure. */
  readonly verdict: DriveVerdict;
  /** The URL of the task or of the target. */
  readonly url: string;
  /** The version of Node.js. */
  readonly node: string;
  /** When the first call was about to come due, in the format of ISO 8601. */
  readonly startedAt: string;
  /** Whether it ended early: by `signal`, or because a thread ended. */
  readonly interrupted: boolean;
  /** From the first slot of the schedule to the end of the last; of all rounds together. */
  readonly elapsedMs: number;
  /** The calls of the warm-up, which count nowhere else. */
  readonly warmUp: CallCounts;
  /** Calls that came due; with `rate: Infinity`, calls made. */
  readonly admitted: number;
  /** How they ended. */
  readonly calls: CallCounts;
  /** Calls made per second, over all threads. */
  readonly achievedRatePerSecond: number;
  /** The rate asked for, on average if it changed; null with `rate: Infinity`. */
  readonly wantedRatePerSecond: number | null;
  /** Null with `rate: Infinity`, which limits nothing. */
  readonly guarantee: Guarantee | null;
  /** The gates, with those that hold by default. */
  readonly gates: readonly GateResult[];
  /** Null with `rate: Infinity`: there, the client is what is measured. */
  readonly fitness: FitnessResult | null;
  /** Responses by status; empty for a task. */
  readonly statusCodes: Readonly<Record<string, number>>;
  /** Failed calls by kind. */
  readonly errors: readonly DriveError[];
  /** Calls that held up their thread, with any outcome. Not counted with `rate: Infinity`. */
  readonly blocked: BlockedFigures;
  /** How long calls took. */
  readonly times: DriveTimes;
  /** What each thread did. */
  readonly threads: readonly ThreadFigures[];
  /** Calls that came due in each tenth of a second; empty with `rate: Infinity`. */
  readonly admittedPer100Ms: readonly number[];
  /** The rounds; null at a set rate. */
  readonly closed: ClosedFigures | null;
}

/** How long calls took, however they ended. All but `response` are empty with `rate: Infinity`. */
export interface DriveTimes {
  /** From the instant at which a call was due to its end. */
  readonly latency: Times;
  /** From that instant until this client noticed it. */
  readonly clientLag: Times;
  /** From then until it could begin: a free connection, or less than `concurrency` in flight. */
  readonly queued: Times;
  /**
   * From its beginning to its end. With `rate: Infinity`, a sample is the mean of the calls between
   * two readings of the clock: a single call if that takes longer than some 25 us.
   */
  readonly response: Times;
}
