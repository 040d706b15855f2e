import { HandleError, RateLimitError } from '../../errors.ts';
import type { AdaptReadings } from '../../limiters/adaptation.ts';
import type { KeyedFixedWindow } from '../../limiters/keyed-fixed-window.ts';
import type { KeyedLimitSet } from '../../limiters/keyed-limit-set.ts';
import type { KeyedTokenBucket } from '../../limiters/keyed-token-bucket.ts';
import { checkAtOnce, isPromising } from '../../limiters/limiter.ts';
import type { KeyedStats, LimiterStats } from '../../limiters/state.ts';
import type { ThrottleStats } from '../../throttle/call.ts';
import type { RedisStats } from '../redis/answers.ts';
import type { FleetStats } from '../redis/fleet/fleet-bucket.ts';

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
  /** Callers that wait for permits, in all threads. */
  readonly waiting?: number;
  /** The readings of a semaphore that adapts. */
  readonly adaptation?: AdaptReadings | undefined;
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

/**
 * A limiter on a server: a `RedisTokenBucket` or `RedisKeyedTokenBucket` of `zerotime/redis`. Covers
 * the calls of this object only, and never asks the server.
 */
export interface CountedServerLimiter {
  /** Counts of this object's calls. */
  stats(): RedisStats;
  /** Tokens per second, as last reported by the server; of each key. */
  readonly rate: number;
  /** The burst, as last reported by the server; of each key. */
  readonly burst: number;
}

/** A `FleetBucket` of `zerotime/redis`. Calls are exported if it counts them. */
export interface CountedFleet {
  /** Counts of all threads. */
  stats(): FleetStats;
  /** The size of the stock. */
  readonly limit: number;
  /** Tokens in the stock. */
  available(): number;
  /** Ends the buying in this thread. */
  standDown(): Promise<void>;
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
  | KeyedLimitSet
  | KeyedFixedWindow
  | CountedSemaphore
  | CountedThrottle
  | CountedServerLimiter
  | CountedFleet
  | CountedSampler;

/** The counts of limiters on a server, and of fleets. */
type RemoteStats = Omit<RedisStats, 'isReachable'> &
  Pick<FleetStats, 'purchases' | 'bought' | 'returned'>;

/** The values of one limiter at one instant, as long as it is not damaged. */
interface State extends Partial<LimiterStats & KeyedStats & ThrottleStats & RemoteStats> {
  readonly rate?: number | undefined;
  readonly burst?: number;
  readonly available?: number;
  readonly balance?: number | undefined;
  readonly permits?: number;
  readonly inUse?: number;
  readonly adaptation?: AdaptReadings | undefined;
  readonly oldestMs?: number;
  readonly reachable?: 0 | 1;
  readonly spans?: SpanCounts;
}

/** The values of one limiter. A damaged one only has `damaged`. */
export interface Reading extends State {
  readonly damaged: 0 | 1;
}

function isOnServer(limiter: MeasuredLimiter): limiter is CountedServerLimiter {
  return isPromising(limiter);
}

/** Reads the counts of a limiter, which may have none. */
type Counting = <T>(read: () => T) => T | undefined;

const always: Counting = (read) => read();

/** Leaves out the counts of a limiter that keeps none. */
const ifCounted: Counting = (read) => {
  try {
    return read();
  } catch (error) {
    if (error instanceof RateLimitError) return undefined;
    throw error;
  }
};

function stateOfFleet(fleet: CountedFleet): State {
  const { threads, failures, isReachable, cause: _, ...counts } = fleet.stats();
  return {
    ...threads,
    ...counts,
    unreachable: failures,
    reachable: isReachable ? 1 : 0,
    burst: fleet.limit,
    available: fleet.available(),
  };
}

/** Reads a limiter once for all series. */
function stateOf(limiter: MeasuredLimiter, counting = always): State {
  if (isOnServer(limiter)) {
    const { isReachable, ...counts } = limiter.stats();
    return { ...counts, reachable: isReachable ? 1 : 0, rate: limiter.rate, burst: limiter.burst };
  }
  if ('standDown' in limiter) return stateOfFleet(limiter);
  if ('shouldSample' in limiter) return { spans: limiter.stats() };
  if ('oldestMs' in limiter) return { ...limiter.stats(), oldestMs: limiter.oldestMs };
  const counts = counting(() => limiter.stats());
  if ('permits' in limiter) {
    const { waiting, permits, adaptation } = limiter;
    const own = { permits, inUse: limiter.inUse(), adaptation };
    return { ...(waiting === undefined ? {} : { waiting }), ...counts, ...own };
  }
  if ('intervalMs' in limiter && 'for' in limiter) return { ...counts, burst: limiter.limit };
  const { rate } = limiter;
  if ('for' in limiter) return { ...counts, rate, burst: limiter.burst };
  const [available, balance] = [limiter.available(), limiter.balance?.()];
  return { ...counts, rate, burst: limiter.limit, available, balance };
}

/** Throws if a limiter keeps no counts, and a TypeError if they are promises. */
export function checkCounts(limiter: MeasuredLimiter): void {
  if (isOnServer(limiter)) return;
  checkAtOnce('limiter', limiter, [limiter.stats()]);
  checkAtOnce('limiter', limiter, Object.values(stateOf(limiter)));
}

/**
 * Reads a limiter without throwing, so that the others are still exported. `counting` decides about
 * one that keeps no counts.
 */
export function safeReadingOf(limiter: MeasuredLimiter, counting = always): Reading {
  try {
    return { damaged: 0, ...stateOf(limiter, counting) };
  } catch {
    return { damaged: 1 };
  }
}

/** Whether a limiter of a region has what {@link stateOf} reads, apart from counts. Throws if damaged. */
function isReadable(limiter: unknown): limiter is MeasuredLimiter {
  const { stats, limit, burst, permits } = limiter as Partial<CountedLimiter & CountedSemaphore> & {
    readonly burst?: number;
  };
  return typeof stats === 'function' && (limit ?? burst ?? permits) !== undefined;
}

/** Whether a limiter of a region can be exported. */
export function isMeasured(limiter: unknown): limiter is MeasuredLimiter {
  try {
    if (!isReadable(limiter)) return false;
    stateOf(limiter); // it has the methods
    return true;
  } catch (error) {
    if (error instanceof HandleError) return true; // damaged
    if (error instanceof RateLimitError) return false; // it keeps no counts
    throw error;
  }
}

/** Reads a limiter of a region, with or without counts; undefined if it has neither state. */
export function readingIfAny(limiter: unknown): Reading | undefined {
  try {
    return isReadable(limiter) ? safeReadingOf(limiter, ifCounted) : undefined;
  } catch {
    return { damaged: 1 };
  }
}
