import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import type { Load } from './loads.ts';

/** Options of a rate-limiter-flexible bucket: a count of points in a window. */
export function flexibleOptions({ rate, burst }: Pick<Load, 'rate' | 'burst'>): {
  points: number;
  duration: number;
} {
  return { points: burst, duration: burst / rate };
}

/** Whether the key has enough points. The library rejects with its result if not. */
export async function consumePoints(
  limiter: RateLimiterAbstract,
  key: string,
  points = 1,
): Promise<boolean> {
  try {
    await limiter.consume(key, points);
    return true;
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return false;
    throw refusal;
  }
}
