import type { Fitness } from '../fitness.ts';

/** Whether this client was fit to measure, or distorted the figures itself. */
export interface FitnessResult {
  /** Whether this client was fit to measure. */
  readonly fit: boolean;
  /** What made it unfit. Empty if `fit`. */
  readonly limits: readonly FitnessLimit[];
  /** Due to noticed by this client, at p99, in milliseconds. */
  readonly lateMs: number;
  /** Share of the time for which the busiest thread's event loop was busy, from 0 to 1. */
  readonly busiestLoop: number;
  /** Processor use during the run. */
  readonly processors: ProcessorUse;
  /** The 95 % confidence interval of p99; null if there are too few calls. */
  readonly p99Ms: ConfidenceRange | null;
}

/** A reason why the client was unfit. Only the fields of its `kind` are set. */
export interface FitnessLimit {
  /**
   * `lateness`: calls were noticed late. `connections`: they waited for a connection, or for fewer
   * than `concurrency` calls in flight. `event loop`, `processors`: these had no time left.
   * `samples`: too few calls for p99.
   */
  readonly kind: 'lateness' | 'connections' | 'event loop' | 'processors' | 'samples';
  /** `lateness`: due to noticed, at p99. */
  readonly lateMs?: number;
  /** `connections`: noticed to started, at p99. */
  readonly queuedMs?: number;
  /** `lateness`, `connections`: the latency at p99, which includes that time. */
  readonly latencyMs?: number;
  /** `connections`: the number of connections, or of calls that may be in flight. */
  readonly connections?: number;
  /** `connections`: with HTTP/2, the sessions, of which `connections` are all streams. */
  readonly sessions?: number;
  /** `event loop`: the share of the time for which the busiest one was busy, from 0 to 1. */
  readonly busy?: number;
  /** `processors`: the use by all processes, from 0 to 1. */
  readonly machine?: number;
  /** `processors`: the use by this process, from 0 to 1. */
  readonly own?: number;
  /** `samples`: the number of calls. */
  readonly count?: number;
}

/** Processor use during a run, as shares of all processors. */
export interface ProcessorUse {
  /** Use by all processes of the machine, from 0 to 1. */
  readonly machine: number;
  /** Use by this process, from 0 to 1. */
  readonly own: number;
}

/** A confidence interval. */
export interface ConfidenceRange {
  /** Lower end, in milliseconds. */
  readonly low: number;
  /** Upper end, in milliseconds. */
  readonly high: number;
}

/** Converts the fitness of a run to plain data. */
export function fitnessResult(fitness: Fitness): FitnessResult {
  return { ...fitness, p99Ms: fitness.p99Ms ?? null };
}
