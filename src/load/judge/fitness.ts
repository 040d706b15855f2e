import type { Histogram } from 'hdr-histogram-js';
import { type DriveError, INTERRUPTED, TIMED_OUT } from '../measure/errors.ts';
import { MOST_BUSY, type ProcessorUse } from '../measure/gauges.ts';
import type { CallCounts, Tally } from '../measure/tally.ts';
import { type ConfidenceRange, percentileInterval } from './interval.ts';

/** The largest share of the p99 latency that the client itself may cause. */
export const MOST_OWN_SHARE = 0.1;
const PERCENTILE = 99;

/** Threads in which all connections were busy, or `concurrency` calls were in flight. */
export interface FullThreads {
  /** The number of these threads. */
  readonly threads: number;
  /** Their connections, or the calls that may be in flight. */
  readonly connections: number;
  /** With HTTP/2, their sessions, of which `connections` are all streams. */
  readonly sessions?: number;
}

/** A reason why the client was unfit. */
export type FitnessLimit =
  | LatenessLimit
  | ConnectionLimit
  | LoopLimit
  | ProcessorLimit
  | SampleLimit;

/** Calls were noticed late. */
export interface LatenessLimit {
  /** The kind of limit. */
  readonly kind: 'lateness';
  /** Due to noticed, at p99. */
  readonly lateMs: number;
  /** The latency at p99, which includes that time. */
  readonly latencyMs: number;
}

/** Calls waited for a connection, or for fewer than `concurrency` calls in flight. */
export interface ConnectionLimit extends FullThreads {
  /** The kind of limit. */
  readonly kind: 'connections';
  /** Noticed to started, at p99. */
  readonly queuedMs: number;
  /** The latency at p99, which includes that time. */
  readonly latencyMs: number;
}

/** The busiest thread's event loop had no time left. */
export interface LoopLimit {
  /** The kind of limit. */
  readonly kind: 'event loop';
  /** The share of the time for which it was busy, from 0 to 1. */
  readonly busy: number;
}

/** The processors had no time left. */
export interface ProcessorLimit extends ProcessorUse {
  /** The kind of limit. */
  readonly kind: 'processors';
}

/** Too few calls for p99. */
export interface SampleLimit {
  /** The kind of limit. */
  readonly kind: 'samples';
  /** The number of calls. */
  readonly count: number;
}

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
  /** The 95 % confidence interval of p99, in milliseconds; null if there are too few calls. */
  readonly p99Ms: ConfidenceRange | null;
}

export interface FitnessOptions {
  readonly tally: Pick<Tally, 'counters' | 'errors' | 'histograms'>;
  /** The threads in which requests or calls waited for others to end. */
  readonly full: FullThreads;
  /** Per thread: the share of the time for which its event loop was busy. */
  readonly loops: readonly number[];
  readonly processors: ProcessorUse;
}

/**
 * Whether most requests or calls that were made filled their room until they were cut: nothing but
 * the target could have made room for others.
 */
export function isUnanswered({ sent }: CallCounts, errors: Iterable<DriveError>): boolean {
  const cut = [...errors].filter(({ kind }) => kind === TIMED_OUT || kind === INTERRUPTED);
  return cut.reduce((sum, { count }) => sum + count, 0) > sent / 2;
}

/** Decides whether the run measured the target or the client. */
export function fitnessOf({ tally, full, loops, processors }: FitnessOptions): FitnessResult {
  const { latency, clientLag, queued } = tally.histograms;
  const latencyMs = p99(latency);
  const lateMs = p99(clientLag);
  const queuedMs = p99(queued);
  const busiestLoop = Math.max(0, ...loops);
  const p99Ms = intervalOf(latency);
  const limits: FitnessLimit[] = [];
  const isMeasured =
    tally.counters.succeeded > 0 || isUnanswered(tally.counters, tally.errors.values());
  // The latency of refused requests says nothing about the target.
  const mostMs = isMeasured ? MOST_OWN_SHARE * latencyMs : Number.POSITIVE_INFINITY;
  if (lateMs > mostMs) limits.push({ kind: 'lateness', lateMs, latencyMs });
  if (queuedMs > mostMs && full.threads > 0) {
    limits.push({ kind: 'connections', queuedMs, latencyMs, ...full });
  }
  if (busiestLoop > MOST_BUSY) limits.push({ kind: 'event loop', busy: busiestLoop });
  if (processors.machine > MOST_BUSY) limits.push({ kind: 'processors', ...processors });
  if (p99Ms === null) limits.push({ kind: 'samples', count: latency.totalCount });
  return { fit: limits.length === 0, limits, lateMs, busiestLoop, processors, p99Ms };
}

function p99(histogram: Histogram): number {
  return histogram.totalCount === 0 ? 0 : histogram.getValueAtPercentile(PERCENTILE) / 1_000;
}

/** In milliseconds. */
function intervalOf(histogram: Histogram): ConfidenceRange | null {
  const interval = percentileInterval(histogram, PERCENTILE);
  return interval ? { low: interval.low / 1_000, high: interval.high / 1_000 } : null;
}
