import { HandleError, RateLimitError } from '../../errors.ts';
import type { KeyedFixedWindow } from '../../limiters/keyed-fixed-window.ts';
import type { KeyedTokenBucket } from '../../limiters/keyed-token-bucket.ts';
import type { KeyedStats, LimiterStats } from '../../limiters/stats.ts';

/** A limiter with counters: any bucket, window or log created with `stats: true`. */
export interface CountedLimiter {
  /** The counters of all threads. */
  stats(): LimiterStats;
  /** The largest number of tokens that one call can take. */
  readonly limit: number;
  /** In tokens per second; windows and logs have none. */
  readonly rate?: number;
  /** Tokens that can be taken now. */
  available(): number;
  /** Like `available`, but negative in debt; windows and logs have no debt. */
  balance?(): number;
}

/**
 * A limiter that {@link LimiterMetrics} can export. A keyed one also counts its entries.
 */
export type MeasuredLimiter = CountedLimiter | KeyedTokenBucket | KeyedFixedWindow;

/** The values of one limiter at a scrape; a damaged one has no others. */
export interface Reading extends Partial<LimiterStats>, Partial<KeyedStats> {
  readonly damaged: 0 | 1;
  readonly rate?: number | undefined;
  readonly burst?: number;
  readonly available?: number;
  readonly debt?: number | undefined;
}

/** A metric, and where its value comes from. */
export interface Series {
  readonly name: string;
  readonly help: string;
  readonly value: (reading: Reading) => number | undefined;
}

export const COUNTERS: readonly Series[] = [
  { name: 'calls_total', help: 'Calls that asked for tokens.', value: ({ calls }) => calls },
  { name: 'admitted_tokens_total', help: 'Tokens admitted.', value: ({ admitted }) => admitted },
  { name: 'refused_calls_total', help: 'Calls refused.', value: ({ refused }) => refused },
  {
    name: 'lost_races_total',
    help: 'Compare-and-exchange races lost to another thread.',
    value: ({ lostRaces }) => lostRaces,
  },
  {
    name: 'reclaimed_entries_total',
    help: 'Entries reassigned to another key after their bucket was full again.',
    value: ({ reclaimed }) => reclaimed,
  },
  {
    name: 'shared_calls_total',
    help: 'Calls whose key had no room in the table.',
    value: ({ shared }) => shared,
  },
];

export const GAUGES: readonly Series[] = [
  {
    name: 'rate_tokens_per_second',
    help: 'The current rate; per key for keyed limiters.',
    value: ({ rate }) => rate,
  },
  {
    name: 'burst_tokens',
    help: 'The largest number of tokens that one call can take; per key for keyed limiters.',
    value: ({ burst }) => burst,
  },
  {
    name: 'available_tokens',
    help: 'Tokens that can be taken now.',
    value: ({ available }) => available,
  },
  {
    name: 'debt_tokens',
    help: 'Tokens promised to waiting callers.',
    value: ({ debt }) => debt,
  },
  {
    name: 'waiting_callers',
    help: 'Callers waiting in the thread that exports.',
    value: ({ waiting }) => waiting,
  },
  { name: 'entries', help: 'Keys whose bucket is not full.', value: ({ entries }) => entries },
  {
    name: 'damaged',
    help: 'Whether the memory of the limiter is damaged; if 1, it has no other values.',
    value: ({ damaged }) => damaged,
  },
];

/** Reads a limiter once for all series. */
export function readingOf(limiter: MeasuredLimiter): Reading {
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

/** Reads a limiter so that a damaged one does not fail the scrape of the others. */
export function scrapeOf(limiter: MeasuredLimiter): Reading {
  try {
    return readingOf(limiter);
  } catch (error) {
    if (error instanceof HandleError) return { damaged: 1 };
    throw error;
  }
}

/** Whether a limiter of a region can be exported. */
export function isMeasured(limiter: unknown): limiter is MeasuredLimiter {
  const { stats, limit, burst } = limiter as Partial<CountedLimiter> & { readonly burst?: number };
  if (typeof stats !== 'function' || (limit ?? burst) === undefined) return false;
  try {
    readingOf(limiter as MeasuredLimiter); // it has the methods of one
    return true;
  } catch (error) {
    if (error instanceof HandleError) return true; // and is damaged
    if (error instanceof RateLimitError) return false; // it keeps no counts
    throw error;
  }
}
