import { ManualClock, TokenBucket } from '../../src/index.ts';

/** A bucket, and the clock that a test moves. */
export function bucketOf(rate: number, burst: number) {
  const clock = ManualClock.create();
  return { clock, limiter: TokenBucket.create({ rate, burst, clock }) };
}
