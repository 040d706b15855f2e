import { expect, test } from 'vitest';
import { ManualClock, REFUSED, TokenBucket } from '../../src/index.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { SEED } from '../support/random.ts';
import type { Borrowed, BorrowJob } from '../workers/borrower.ts';

const THREADS = 4;
const MOST_ROUNDS = 2_000;

// folly's consumeWithBorrow reads its wait with a second load, so a borrower can be charged
// another's debt, or two borrowers the same debt.
test(`waits of concurrent borrowers are all different and exact (ZEROTIME_SEED=${SEED})`, async () => {
  const clock = ManualClock.create();
  // 1000 tokens per millisecond.
  const bucket = TokenBucket.create({ rate: 1e6, burst: 16, clock, stats: true });
  const crew = await Crew.start<BorrowJob, Borrowed[]>('borrower', THREADS);

  let owed = -bucket.burst;
  let rounds = 0;
  do {
    const job = {
      handle: bucket.handle,
      gate: new Gate().buffer,
      arrivals: THREADS,
      borrows: 2000,
      seed: SEED + THREADS * rounds,
    };
    const borrowed = (await crew.run(job)).flat();
    borrowed.sort((a, b) => a.waitMs - b.waitMs || 0);
    // Each wait ends one loan after the previous one: no gap, no overlap.
    for (const { n, waitMs } of borrowed) {
      owed += n;
      expect(waitMs).toBe(Math.max(0, owed) / 1000);
    }
    expect(bucket.balance()).toBe(-owed);
  } while (bucket.stats().failedExchanges === 0 && ++rounds < MOST_ROUNDS);
  expect(bucket.stats().failedExchanges, 'races lost').toBeGreaterThan(0);
});

test('a borrower with a maximum wait is charged only its own debt, and nothing if refused', () => {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 10, burst: 5, clock });
  expect(bucket.acquire(5)).toBe(0);
  expect(bucket.acquire(2)).toBe(200);
  expect(bucket.acquire(3, 499)).toBe(REFUSED);
  expect(bucket.balance()).toBe(-2);
  expect(bucket.acquire(3, 500)).toBe(500);
  expect(bucket.balance()).toBe(-5);
  expect(() => bucket.acquire(6)).toThrow(/^n must be at most 5, got 6$/);
  clock.advance(1000);
  expect(bucket.balance()).toBe(5);
});
