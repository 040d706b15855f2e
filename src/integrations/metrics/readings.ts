import { HandleError, RateLimitError } from '../../errors.ts';
import type { KeyedFixedWindow } from '../../limiters/keyed-fixed-window.ts';
import type { KeyedTokenBucket } from '../../limiters/keyed-token-bucket.ts';
import type { KeyedStats, LimiterStats } from '../../limiters/stats.ts';
import type { ThrottleStats } from '../../throttle/stats.ts';

/** A limiter with counters: any bucket, window or log created with `stats: true`. */
export interface CountedLimiter {
  /** The counters of all threads. */
  stats(): LimiterStats;
  /** The largest number of tokens that one call can take. */
  readonly limit: number;
  /** Tokens per second. Windows and logs have none. */
  readonly rate?: number;
  /** Tokens that can be taken now. */
  available(): number;
  /** Like `available`, but negative in debt. Windows and logs have no debt. */
  balance?(): number;
}

/** A `Semaphore` created with `stats: true`. */
export interface CountedSemaphore {
  /** The counters of all threads. */
  stats(): LimiterStats;
  /** Number of permits, in use or not. */
  readonly permits: number;
  /** Permits in use, over all threads. */
  inUse(): number;
}

/** A function returned by `throttled`, or a throttled pool. Covers this thread only. */
export interface CountedThrottle {
  /** Calls or tasks by state. */
  stats(): ThrottleStats;
  /** How long the longest-waiting call has waited, in milliseconds; 0 if none waits. */
  readonly oldestMs: number;
}

/** A sampler with shared counts: a `ConsistentRateLimitingSampler` of `zerotime/opentelemetry`. */
export interface CountedSampler {
  /** Counts of all threads. */
  stats(): SpanCounts;
  /** Decides on a span. */
  shouldSample(...args: never): unknown;
}

/** The part of a sampler's `stats` that is exported. */
export interface SpanCounts {
  /** The smoothed arrival rate, in spans per second. */
  readonly arrivalsPerSecond: number;
  /** The probability of keeping the next span. */
  readonly probability: number;
  /** Spans that the probability selected but the limit refused. */
  readonly refused: number;
  /** Spans kept only by the minimum of their operation. */
  readonly keptByMinimum?: number;
}

/**
 * Anything that a `LimiterMetrics` can export. Keyed limiters also export their number of entries.
 */
export type MeasuredLimiter =
  | CountedLimiter
  | KeyedTokenBucket
  | KeyedFixedWindow
  | CountedSemaphore
  | CountedThrottle
  | CountedSampler;

/** The values of one limiter at one instant. A damaged limiter only has `damaged`. */
export interface Reading extends Partial<LimiterStats & KeyedStats & ThrottleStats> {
  readonly damaged: 0 | 1;
  readonly rate?: number | undefined;
  readonly burst?: number;
  readonly available?: number;
  readonly debt?: number | undefined;
  readonly permits?: number;
  readonly inUse?: number;
  readonly oldestMs?: number;
  readonly spans?: SpanCounts;
}

/** Reads a limiter once for all series. */
function readingOf(limiter: MeasuredLimiter): Reading {
  if ('shouldSample' in limiter) return { damaged: 0, spans: limiter.stats() };
  if ('oldestMs' in limiter) {
    return { damaged: 0, ...limiter.stats(), oldestMs: limiter.oldestMs };
  }
  if ('permits' in limiter) {
    return {
      damaged: 0,
      ...limiter.stats(),
      permits: limiter.permits,
      inUse: limiter.inUse(),
    };
  }
  if ('intervalMs' in limiter && 'for' in limiter) {
    return { damaged: 0, ...limiter.stats(), burst: limiter.limit };
  }
  const { rate } = limiter;
  if ('for' in limiter) return { damaged: 0, ...limiter.stats(), rate, burst: limiter.burst };
  const balance = limiter.balance?.();
  return {
    damaged: 0,
    ...limiter.stats(),
    rate,
    burst: limiter.limit,
    available: limiter.available(),
    debt: balance === undefined ? undefined : Math.max(0, -balance),
  };
}

/** Throws if a limiter keeps no counts. */
export function checkCounts(limiter: MeasuredLimiter): void {
  readingOf(limiter);
}

/** Reads a limiter without throwing if it is damaged, so that the others are still exported. */
export function safeReadingOf(limiter: MeasuredLimiter): Reading {
  try {
    return readingOf(limiter);
  } catch (error) {
    if (error instanceof HandleError) return { damaged: 1 };
    throw error;
  }
}

/** Whether a limiter of a region can be exported. */
export function isMeasured(limiter: unknown): limiter is MeasuredLimiter {
  const { stats, limit, burst, permits } = limiter as Partial<CountedLimiter & CountedSemaphore> & {
    readonly burst?: number;
  };
  if (typeof stats !== 'function' || (limit ?? burst ?? permits) === undefined) return false;
  try {
    readingOf(limiter as MeasuredLimiter); // it has the methods
    return true;
  } catch (error) {
    if (error instanceof HandleError) return true; // damaged
    if (error instanceof RateLimitError) return false; // it keeps no counts
    throw error;
  }
}
