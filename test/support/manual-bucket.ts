import { ManualClock, TokenBucket } from '../../src/index.ts';

/** A bucket with this limit, and the clock that a test moves. */
export function manualBucket(limit: { rate: number; burst: number; initial?: number }) {
  const clock = ManualClock.create();
  return { clock, bucket: TokenBucket.create({ ...limit, clock }) };
}

/** A bucket, and the clock that a test moves. */
export function bucketOf(rate: number, burst: number, initial = burst) {
  const { clock, bucket: limiter } = manualBucket({ rate, burst, initial });
  return { clock, limiter };
}
