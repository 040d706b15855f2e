import { RateLimitError } from '../errors.ts';
import type { LimiterStats as CallCounts } from '../kernel/bucket/kernel.ts';
import type { KeyedStats as TableCounts } from '../kernel/keyed/kernel.ts';

/** A limiter's counts. Except for `waiting`, they cover all threads since its creation. */
export interface LimiterStats extends CallCounts {
  /** Callers of this thread waiting in `wait` on this object. */
  readonly waiting: number;
}

/** A table's counts. Except for `waiting`, they cover all threads since its creation. */
export interface KeyedStats extends TableCounts {
  /** Callers of this thread waiting in `wait` on this object, for all keys. */
  readonly waiting: number;
}

/** @throws RateLimitError `ERR_STATS_DISABLED` if the limiter does not count calls. */
export function statsOf(
  kernel: { stats(): CallCounts | undefined },
  waiting: number,
): LimiterStats {
  const stats = kernel.stats();
  if (stats !== undefined) return { ...stats, waiting };
  throw new RateLimitError('ERR_STATS_DISABLED', 'create the limiter with stats: true');
}
