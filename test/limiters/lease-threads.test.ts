import { expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { EXACT_LIMITS } from '../support/exact-limits.ts';
import { Gate } from '../support/gate.ts';
import type { HammerJob } from '../workers/hammer.ts';
import type { SpinJob } from '../workers/lease-spinner.ts';

const THREADS = 4;
const MOST_ROUNDS = 2_000;

test.each([1, 3])(
  'four threads that spend %d at a time from leases get every token, once',
  async (n) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 10_000, clock, stats: true });
    const board = Board.for(THREADS);
    const crew = await Crew.start<HammerJob, void>('hammer', THREADS);
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
  const crew = await Crew.start<HammerJob, void>('hammer', THREADS);
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
  const crew = await Crew.start<SpinJob, void>('lease-spinner', 1);
  const spinning = new Gate();
  const done = crew.run({ handle: bucket.handle, spinning: spinning.buffer });
  spinning.await(1);
  bucket.reconfigure({ burst: 1 });
  // Otherwise it would continue for an hour.
  await done;
  expect(bucket.available()).toBeLessThan(2 ** -20);
});
