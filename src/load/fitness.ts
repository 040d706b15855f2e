import type { Histogram } from 'hdr-histogram-js';
import type { CpuUse } from './cpu-gauge.ts';
import { percentileInterval } from './interval.ts';
import type { Tally } from './tally.ts';

/** The largest share of the p99 latency that the client itself may cause. */
export const MOST_OWN_SHARE = 0.1;
/** An event loop or the processors busier than this have no time to spare. */
export const MOST_BUSY = 0.95;
const PERCENTILE = 99;

/** A reason why the client's figures are not fit for use. */
export type ClientLimit =
  /** The client noticed due requests late. */
  | {
      readonly kind: 'lateness';
      /** Due to noticed, at p99. */
      readonly lateMs: number;
      /** The reported latency at p99, which includes it. */
      readonly latencyMs: number;
    }
  /** Requests waited for a connection. */
  | {
      readonly kind: 'connections';
      /** Noticed to sent, at p99. */
      readonly queuedMs: number;
      readonly latencyMs: number;
      /** The most requests or calls in flight. */
      readonly connections: number;
      /** With HTTP/2: the sessions, of which `connections` are all streams. */
      readonly sessions?: number;
    }
  /** The busiest thread's event loop had no time left. */
  | { readonly kind: 'event loop'; readonly busy: number }
  /** The processors had no time left. */
  | ({ readonly kind: 'processors' } & CpuUse)
  /** Too few requests for p99. */
  | { readonly kind: 'samples'; readonly count: number };

/** Whether the client was fit to measure, and the figures that decide it. */
export interface Fitness {
  readonly fit: boolean;
  /** What made it unfit. Empty if it was fit. */
  readonly limits: readonly ClientLimit[];
  /** Due to noticed by this client, at p99. */
  readonly lateMs: number;
  /** The share of the time for which the busiest thread's event loop was busy. */
  readonly busiestLoop: number;
  readonly processors: CpuUse;
  /** The 95 % confidence interval of p99; undefined if there are too few requests. */
  readonly p99Ms: { readonly low: number; readonly high: number } | undefined;
}

export interface FitnessOptions {
  readonly tally: Pick<Tally, 'histograms'>;
  /** The most requests or calls in flight. */
  readonly connections: number;
  /** The HTTP/2 sessions, if there are any. */
  readonly sessions?: number | undefined;
  /** Per thread: the share of the time for which its event loop was busy. */
  readonly loops: readonly number[];
  readonly processors: CpuUse;
}

/** Decides whether the run measured the target or the client. */
export function fitnessOf({
  tally,
  connections,
  sessions,
  loops,
  processors,
}: FitnessOptions): Fitness {
  const { latency, clientLag, queued } = tally.histograms;
  const latencyMs = p99(latency);
  const lateMs = p99(clientLag);
  const queuedMs = p99(queued);
  const busiestLoop = Math.max(0, ...loops);
  const p99Ms = intervalOf(latency);
  const limits: ClientLimit[] = [];
  // If all requests failed, there is no latency to compare with.
  const mostMs = latency.totalCount === 0 ? Number.POSITIVE_INFINITY : MOST_OWN_SHARE * latencyMs;
  if (lateMs > mostMs) limits.push({ kind: 'lateness', lateMs, latencyMs });
  if (queuedMs > mostMs) {
    const room = sessions === undefined ? { connections } : { connections, sessions };
    limits.push({ kind: 'connections', queuedMs, latencyMs, ...room });
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
