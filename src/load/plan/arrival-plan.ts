import type { Region } from '../../limiters/region.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import type { SharedTimetable } from './timetable.ts';

/**
 * Slots are at least 1 us apart. A run starts and ends half a microsecond before a slot, so
 * rounding cannot move a slot across either end.
 */
export const HALF_SLOT_US = 0.5;

/** A bucket whose first request is due at a known instant in the near future. */
export interface ArrivalPlan {
  readonly bucket: TokenBucket;
  /** The instant of the first request. */
  readonly startUs: number;
  /** When requests are due, unless the bucket decides. */
  readonly timetable?: SharedTimetable | undefined;
}

/**
 * Creates the bucket that all threads share. Its first token is due about `leadMs` from now. The
 * bucket then holds one token even if the burst is larger: the burst lets a run catch up after a
 * stall, and must not open it with a spike.
 *
 * The bucket therefore starts in debt for the tokens that arrive until then.
 */
export function planArrivals(
  rate: number,
  burst: number,
  leadMs: number,
  region?: Region,
): ArrivalPlan {
  const flowing = (rate * leadMs) / 1_000;
  let debt = Math.floor(flowing);
  const bucket = TokenBucket.create({
    rate,
    burst,
    initial: 1 - (flowing - debt),
    ...(region && { region }),
  });
  while (debt > 0) {
    const n = Math.min(debt, burst);
    bucket.reserve(n);
    debt -= n;
  }
  // Only reads the next instant. Nothing else uses the bucket yet, so this always succeeds.
  const first = bucket.reserve();
  if (first === undefined) throw new Error('a reservation without a maximum wait was refused');
  first.putBack();
  return { bucket, startUs: first.atUs };
}
