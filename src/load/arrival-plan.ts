import type { Region } from '../limiters/region.ts';
import { TokenBucket } from '../limiters/token-bucket.ts';
import type { SharedSchedule } from './scheduled-slots.ts';

/** A bucket whose first instant lies at a known time in the near future. */
export interface ArrivalPlan {
  readonly bucket: TokenBucket;
  /** The instant of the first request. */
  readonly startUs: number;
  /** When requests are due, if the bucket does not say so. */
  readonly schedule?: SharedSchedule | undefined;
}

/**
 * Creates the bucket that all threads share. Its first token falls due about `leadMs` from now. At
 * that instant the bucket holds one token, whatever the burst: the burst is for catching up after a
 * stall, not for opening with a spike.
 *
 * The bucket therefore starts in debt: the tokens that flow in until then are already taken.
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
  // Reads the next instant. No one else has the bucket yet, so the cancellation always succeeds.
  const first = bucket.reserve();
  if (first === undefined) throw new Error('a reservation without a maximum wait was refused');
  first.cancel();
  return { bucket, startUs: first.atUs };
}
