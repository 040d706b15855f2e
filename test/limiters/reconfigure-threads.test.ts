import { describe, expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { part, SEED } from '../support/random.ts';

const THREADS = 4;
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
/** A busy machine may run the threads one after the other. */
const MOST_LEGS = 5_000;

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
    if (bucket.stats().failedExchanges > 0) break;
    expect(round, 'rounds without a failed exchange').toBeLessThan(2_000);
  }
});

describe.each(KERNEL_MIXES)('with $mix kernels', ({ kernels }) => {
  test('four threads that reconfigure while they consume get exactly the available tokens', async () => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 100_000, clock, stats: true });
    const board = Board.for(THREADS);
    const crew = await Crew.of('takers', 'hammer', THREADS);
    const { handle } = bucket;
    const done = crew.run({
      handle,
      board: board.buffer,
      kernels,
      call: 'tryConsume',
      n: 1,
      limits: EXACT_LIMITS,
    });
    board.walk();
    expect(board.admitted).toBe(100_000);
    for (let round = 0; round < 10 || bucket.stats().failedExchanges === 0; round++) {
      bucket.returnTokens(5000);
      board.walk();
      expect(board.admitted).toBe(100_000 + 5000 * (round + 1));
      expect(round, 'rounds without a failed exchange').toBeLessThan(2_000);
    }
    board.stop();
    await done;
    expect(bucket.balance()).toBe(0);
  });

  test(`${LEGS * CHANGES_OF_A_LEG} reconfigurations against four consuming threads keep the current rate`, async () => {
    const clock = ManualClock.create();
    const rates = [1000, 2000, 4000, 8000];
    const bucket = TokenBucket.create({ rate: 1000, burst: 10_000, clock, stats: true });
    const board = Board.for(THREADS);
    const crew = await Crew.of('takers', 'hammer', THREADS);
    const done = crew.run({
      handle: bucket.handle,
      board: board.buffer,
      kernels,
      call: 'tryConsume',
      n: 1,
    });
    board.walk();
    let wanted = 10_000;
    let raced = 0;
    const hasShown = () => raced > 0 && bucket.stats().failedExchanges > 0;
    for (let leg = 0; leg < LEGS || (leg < MOST_LEGS && !hasShown()); leg++) {
      const before = board.admitted;
      clock.advance(500);
      wanted += bucket.rate / 2;
      for (let i = 0; i < CHANGES_OF_A_LEG; i++) {
        const rate = rates[(leg + i) % rates.length] ?? 1000;
        bucket.reconfigure({ rate, burst: 8000 + rate });
      }
      const during = board.admitted - before;
      board.walk();
      expect(board.admitted, `after leg ${leg}`).toBe(wanted);
      if (during > 0) raced++;
    }
    board.stop();
    await done;
    expect(raced, 'legs in which tokens were taken between two reconfigurations').toBeGreaterThan(
      0,
    );
    expect(bucket.stats().failedExchanges).toBeGreaterThan(0);
  });
});

const MOST_ROUNDS = 2_000;

test.each([1, 3])(
  'four threads that spend %d at a time from leases get every token, once',
  async (n) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10_000, clock, stats: true });
    const board = Board.for(THREADS);
    const crew = await Crew.of('takers', 'hammer', THREADS);
    const { handle } = bucket;
    const job = { handle, board: board.buffer, call: 'tryConsume', n, leased: 64 } as const;
    const done = crew.run(job);
    board.walk();
    // Threads with less than n in stock have asked the bucket and could not get the rest.
    const most = (n - 1) * THREADS;
    for (let moves = 0; moves < 20 || bucket.stats().failedExchanges === 0; moves++) {
      const wanted = 10_000 + moves * 750;
      expect(board.admitted).toBeLessThanOrEqual(wanted);
      expect(board.admitted).toBeGreaterThanOrEqual(wanted - n - most);
      if (n === 1) expect(board.admitted).toBe(wanted);
      expect(moves, 'moves without a failed exchange').toBeLessThan(MOST_ROUNDS);
      board.walk((moves + 1) * 750);
    }
    board.stop();
    await done;
  },
);

test('four threads with leases that reconfigure while they spend get exactly the available tokens', async () => {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 1000, burst: 100_000, clock, stats: true });
  const board = Board.for(THREADS);
  const crew = await Crew.of('takers', 'hammer', THREADS);
  const { handle } = bucket;
  const job = {
    handle,
    board: board.buffer,
    call: 'tryConsume',
    n: 1,
    leased: 64,
    limits: EXACT_LIMITS,
  } as const;
  const done = crew.run(job);
  // A thread that got nothing may later take what another returned because the limit changed, and
  // still have it in stock when all have answered.
  const spendAll = (wanted: number) => {
    for (let walks = 1; ; walks++) {
      board.walk();
      if (board.admitted >= wanted) break;
      expect(walks, `walks, and ${board.admitted} of ${wanted} admitted`).toBeLessThan(MOST_ROUNDS);
    }
    expect(board.admitted).toBe(wanted);
  };
  spendAll(100_000);
  for (let round = 0; round < 10 || bucket.stats().failedExchanges === 0; round++) {
    bucket.returnTokens(5000);
    spendAll(100_000 + 5000 * (round + 1));
    expect(round, 'rounds without a failed exchange').toBeLessThan(MOST_ROUNDS);
  }
  board.stop();
  await done;
  expect(bucket.balance()).toBe(0);
});

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
