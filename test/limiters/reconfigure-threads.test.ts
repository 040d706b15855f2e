import { describe, expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import type { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { hammered, hasRaced, THREADS } from '../support/hammered.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { part, SEED } from '../support/random.ts';

const LEGS = part(100, 25);
const CHANGES_OF_A_LEG = 100;
/**
 * Limits between which nothing is rounded away: a token at each rate is a whole number of ticks at
 * the others.
 */
const EXACT_LIMITS = [
  { rate: 1000, burst: 100_000 },
  { rate: 4000, burst: 200_000 },
  { quantum: 8, fillIntervalMs: 1, burst: 150_000 },
];

test(`every decision follows from the old limit or the new one, never from both (ZEROTIME_SEED=${SEED})`, async () => {
  const limits = [
    { rate: 1000, burst: 1000 },
    { rate: 4000, burst: 2000 },
  ] as const;
  const bucket = TokenBucket.create({
    ...limits[0],
    initial: 900,
    clock: ManualClock.create(),
    stats: true,
  });
  const crew = await Crew.of('takers', 'decide', THREADS);
  for (let round = 0; ; round++) {
    const decided = await crew.run({
      handle: bucket.handle,
      calls: 10_000,
      limits,
      seed: SEED + THREADS * round,
    });
    for (const { answered, mixture } of decided) {
      expect(mixture).toBe(undefined);
      for (const count of answered) expect(count, 'each limit answers').toBeGreaterThan(0);
    }
    expect(bucket.balance(), 'all was given back').toBe(900);
    if (hasRaced(bucket)) break;
    expect(round, 'rounds without a failed exchange').toBeLessThan(2_000);
  }
});

/**
 * A thread with a lease that got nothing may later take what another returned because the limit
 * changed, and still have it in stock when all have answered: then they are asked again.
 */
function takeAll(board: Board, wanted: number, mostWalks: number): void {
  for (let walks = 0; walks < mostWalks && (walks === 0 || board.admitted < wanted); walks++) {
    board.walk();
  }
  expect(board.admitted).toBe(wanted);
}

const MOST_WALKS = 2_000;

describe.each(KERNEL_MIXES)('with $mix kernels', ({ kernels }) => {
  test.each([
    ['that reconfigure while they consume', 1, {}],
    ['with leases that reconfigure while they spend', MOST_WALKS, { leased: 64 }],
  ])('four threads %s get exactly the available tokens', async (_, mostWalks, spending) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 100_000, clock, stats: true });
    const take = (board: Board, leg: number) => {
      if (leg > 0) bucket.returnTokens(5000);
      takeAll(board, 100_000 + 5000 * leg, mostWalks);
    };
    await hammered(bucket, { kernels, limits: EXACT_LIMITS, ...spending }, take, 11);
    expect(bucket.balance()).toBe(0);
  });

  test(`${LEGS * CHANGES_OF_A_LEG} reconfigurations against four consuming threads keep the current rate`, async () => {
    const clock = ManualClock.create();
    const rates = [1000, 2000, 4000, 8000];
    const bucket = TokenBucket.create({ rate: 1000, burst: 10_000, clock, stats: true });
    let wanted = 10_000;
    // Legs in which tokens were taken between two reconfigurations.
    let raced = 0;
    const change = (board: Board, leg: number) => {
      if (leg === 0) board.walk();
      const before = board.admitted;
      clock.advance(500);
      wanted += bucket.rate / 2;
      for (let i = 0; i < CHANGES_OF_A_LEG; i++) {
        const rate = rates[(leg + i) % rates.length] ?? 1000;
        bucket.reconfigure({ rate, burst: 8000 + rate });
      }
      if (board.admitted > before) raced++;
      board.walk();
      expect(board.admitted, `after leg ${leg}`).toBe(wanted);
    };
    await hammered(bucket, { kernels }, change, LEGS, () => raced > 0 && hasRaced(bucket));
  });
});

test.each([1, 3])(
  'four threads that spend %d at a time from leases get every token, once',
  async (n) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10_000, clock, stats: true });
    // Threads with less than n in stock have asked the bucket and could not get the rest.
    const most = (n - 1) * THREADS;
    const spend = (board: Board, leg: number) => {
      board.walk(leg * 750);
      const wanted = 10_000 + leg * 750;
      expect(board.admitted).toBeLessThanOrEqual(wanted);
      expect(board.admitted).toBeGreaterThanOrEqual(n === 1 ? wanted : wanted - n - most);
    };
    await hammered(bucket, { n, leased: 64 }, spend, 21);
  },
);

test('a thread that only spends its stock notices a reconfiguration', async () => {
  const bucket = TokenBucket.create({ rate: 1000, burst: 4e6, clock: ManualClock.create() });
  const crew = await Crew.of('takers', 'spinOnLease', 1);
  const spinning = new Gate();
  const done = crew.run({ handle: bucket.handle, spinning: spinning.buffer });
  spinning.await(1);
  bucket.reconfigure({ burst: 1 });
  // Otherwise it would continue for an hour.
  await done;
  expect(bucket.available()).toBeLessThan(2 ** -20);
});
