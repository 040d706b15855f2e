import { RateLimitError } from '../errors.ts';
import type { LimiterStats } from '../kernel/bucket/kernel.ts';

/** @throws RateLimitError `ERR_STATS_DISABLED` if the limiter does not count calls. */
export function statsOf(kernel: { stats(): LimiterStats | undefined }): LimiterStats {
  const stats = kernel.stats();
  if (stats !== undefined) return stats;
  throw new RateLimitError('ERR_STATS_DISABLED', 'create the limiter with stats: true');
}
