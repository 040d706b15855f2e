import { type ContinuousLimit, type Lease, ManualClock, TokenBucket } from '../../src/index.ts';

/** A bucket on a manual clock, with leases of these sizes. */
export function leased(limit: ContinuousLimit & { readonly initial?: number }, ...sizes: number[]) {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ ...limit, clock, stats: true });
  const leases = sizes.map((size) => bucket.lease({ size }));
  return { clock, bucket, leases, lease: leases[0] as Lease };
}

/** Takes single tokens until none is left. */
export function spendAll(lease: Lease): number {
  let spent = 0;
  while (lease.tryConsume()) spent++;
  return spent;
}
