import type { Histogram } from 'hdr-histogram-js';
import type { CpuUse } from './cpu-gauge.ts';
import { percentileInterval } from './interval.ts';
import type { Tally } from './tally.ts';

/** The client's own part of the latency at p99 may be this share of it. */
export const MOST_OWN_SHARE = 0.1;
/** Above this an event loop or the processors have no time to spare. */
export const MOST_BUSY = 0.95;
const PERCENTILE = 99;

/** Why a client could not measure what it should. */
export type ClientLimit =
  /** It noticed requests later than they were due. */
  | {
      readonly kind: 'lateness';
      /** Due to noticed, at p99. */
      readonly lateMs: number;
      /** The latency reported at p99, of which that is a part. */
      readonly latencyMs: number;
    }
  /** Requests waited for a connection. */
  | {
      readonly kind: 'connections';
      /** Noticed to sent, at p99. */
      readonly queuedMs: number;
      readonly latencyMs: number;
      readonly connections: number;
    }
  /** The busiest thread had no time left. */
  | { readonly kind: 'event loop'; readonly busy: number }
  /** The processors had no time left. */
  | ({ readonly kind: 'processors' } & CpuUse)
  /** So few requests say little about p99. */
  | { readonly kind: 'samples'; readonly count: number };

/** Whether the client was fit to measure. */
export interface Fitness {
  readonly fit: boolean;
  /** What was in the way. Empty if it was fit. */
  readonly limits: readonly ClientLimit[];
  /** Due to noticed by the client, at p99. */
  readonly lateMs: number;
  /** The share of the time in which the busiest thread's event loop was busy. */
  readonly busiestLoop: number;
  readonly processors: CpuUse;
  /** The range of p99 with 95 % confidence; undefined if there are too few requests for one. */
  readonly p99Ms: { readonly low: number; readonly high: number } | undefined;
}

export interface FitnessOptions {
  readonly tally: Pick<Tally, 'histograms'>;
  readonly connections: number;
  /** The share of the time in which each thread's event loop was busy. */
  readonly loops: readonly number[];
  readonly processors: CpuUse;
}

/** Decides whether the client or the target was measured. */
export function fitnessOf({ tally, connections, loops, processors }: FitnessOptions): Fitness {
  const { latency, clientLag, queued } = tally.histograms;
  const latencyMs = p99(latency);
  const lateMs = p99(clientLag);
  const queuedMs = p99(queued);
  const busiestLoop = Math.max(0, ...loops);
  const p99Ms = intervalOf(latency);
  const limits: ClientLimit[] = [];
  // Without a latency, as if all requests fail, there is none to be a part of.
  const mostMs = latency.totalCount === 0 ? Number.POSITIVE_INFINITY : MOST_OWN_SHARE * latencyMs;
  if (lateMs > mostMs) limits.push({ kind: 'lateness', lateMs, latencyMs });
  if (queuedMs > mostMs) {
    limits.push({ kind: 'connections', queuedMs, latencyMs, connections });
  }
  if (busiestLoop > MOST_BUSY) limits.push({ kind: 'event loop', busy: busiestLoop });
  if (processors.machine > MOST_BUSY) limits.push({ kind: 'processors', ...processors });
  if (p99Ms === undefined) limits.push({ kind: 'samples', count: latency.totalCount });
  return { fit: limits.length === 0, limits, lateMs, busiestLoop, processors, p99Ms };
}

function p99(histogram: Histogram): number {
  return histogram.totalCount === 0 ? 0 : histogram.getValueAtPercentile(PERCENTILE) / 1_000;
}

/** In milliseconds. */
function intervalOf(histogram: Histogram): { low: number; high: number } | undefined {
  const interval = percentileInterval(histogram, PERCENTILE);
  return interval && { low: interval.low / 1_000, high: interval.high / 1_000 };
}
