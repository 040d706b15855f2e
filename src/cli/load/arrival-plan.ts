import { TokenBucket } from '../../limiters/token-bucket.ts';

/** A bucket that names its first instant at a known time, in the near future. */
export interface ArrivalPlan {
  readonly bucket: TokenBucket;
  /** The instant of the first request. */
  readonly startUs: number;
}

/**
 * Makes the bucket that all threads share. Its first token falls due about `leadMs` from now, and
 * then it holds that one token, whatever the burst: the burst is there to catch up with what the
 * client missed, not to open with a blow.
 *
 * To that end the bucket starts in debt: tokens that would have come until then are taken already.
 */
export function planArrivals(rate: number, burst: number, leadMs: number): ArrivalPlan {
  const flowing = (rate * leadMs) / 1_000;
  let debt = Math.floor(flowing);
  const bucket = TokenBucket.create({ rate, burst, initial: 1 - (flowing - debt) });
  while (debt > 0) {
    const n = Math.min(debt, burst);
    bucket.reserve(n);
    debt -= n;
  }
  // A look at what comes next. Nobody else holds the bucket yet, so cancelling leaves no trace.
  const first = bucket.reserve();
  if (first === undefined) throw new Error('a reservation without a maximum wait was refused');
  first.cancel();
  return { bucket, startUs: first.atUs };
}
