import type { LimiterStats } from '../bucket/kernel.ts';

/** Counts of a table of buckets, over all threads. */
export interface KeyedStats extends Partial<LimiterStats> {
  /** Keys whose buckets are not full. The others need no entry. */
  readonly entries: number;
  /** Entries that were taken from buckets that were full again. */
  readonly reclaimed: number;
  /** Calls whose key found no place. */
  readonly shared: number;
  /** The most entries that one call looked at, of the 64 it may; kept with `stats: true`. */
  readonly longestProbe?: number;
}
