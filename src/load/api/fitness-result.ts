import type { Fitness } from '../fitness.ts';

/** Whether this client was fit to measure, or was itself a part of what it measured. */
export interface FitnessResult {
  /** Whether it was. */
  readonly fit: boolean;
  /** What was in the way. Empty if `fit`. */
  readonly limits: readonly FitnessLimit[];
  /** From due to noticed by this client, at p99, in milliseconds. */
  readonly lateMs: number;
  /** The share of the time in which the busiest thread's event loop was busy, from 0 to 1. */
  readonly busiestLoop: number;
  /** How busy the processors of the machine were. */
  readonly processors: ProcessorUse;
  /** The range of p99 with 95 % confidence; null if there are too few calls for one. */
  readonly p99Ms: ConfidenceRange | null;
}

/** What was in the way of measuring, and by how much: only what belongs to its kind is there. */
export interface FitnessLimit {
  /**
   * `lateness`: calls were noticed late. `connections`: they waited for one, or for a place among
   * `concurrency`. `event loop`, `processors`: these had no time left. `samples`: there are too few
   * calls for p99.
   */
  readonly kind: 'lateness' | 'connections' | 'event loop' | 'processors' | 'samples';
  /** `lateness`: from due to noticed, at p99. */
  readonly lateMs?: number;
  /** `connections`: from noticed to begun, at p99. */
  readonly queuedMs?: number;
  /** `lateness`, `connections`: the latency at p99, of which that is a part. */
  readonly latencyMs?: number;
  /** `connections`: how many there were, or how many calls may be in flight. */
  readonly connections?: number;
  /** `event loop`: the share of the time in which the busiest was busy, from 0 to 1. */
  readonly busy?: number;
  /** `processors`: the share of all of them in use by anyone, from 0 to 1. */
  readonly machine?: number;
  /** `processors`: the share of all of them that this process used, from 0 to 1. */
  readonly own?: number;
  /** `samples`: how many there were. */
  readonly count?: number;
}

/** How busy the processors were. */
export interface ProcessorUse {
  /** The share of all processors in use by anyone, from 0 to 1. */
  readonly machine: number;
  /** The share of all processors that this process used, from 0 to 1. */
  readonly own: number;
}

/** A range in milliseconds. */
export interface ConfidenceRange {
  /** Its lower end. */
  readonly low: number;
  /** Its upper end. */
  readonly high: number;
}

/** The fitness of a run as plain data. */
export function fitnessResult(fitness: Fitness): FitnessResult {
  return { ...fitness, p99Ms: fitness.p99Ms ?? null };
}
