import { expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { part, Random, SEED } from '../support/random.ts';
import type { HammerJob } from '../workers/hammer.ts';

const AT_ONCE = 4;
const ENDED = part(200, 12);
/** Without a lost race by then, something is wrong. */
const MOST_ENDED = 2000;
const random = new Random(SEED);

/** Starts threads that run the job, and terminates each at a random call. */
async function terminated(job: Omit<HammerJob, 'board'>): Promise<Board> {
  const crew = await Crew.start<HammerJob, void>('hammer', AT_ONCE);
  const board = Board.for(AT_ONCE);
  void crew.run({ ...job, board: board.buffer });
  const ends = crew.workers.map((worker, thread) => {
    board.awaitCalls(thread, 1 + random.below(3000));
    return worker.terminate();
  });
  await Promise.all(ends);
  return board;
}

test(`threads that are ended in the middle of ${ENDED} calls take no more than they count, and one call (ZEROTIME_SEED=${SEED})`, async () => {
  const burst = 100_000_000;
  const bucket = TokenBucket.create({ rate: 1, burst, clock: ManualClock.create(), stats: true });
  const { handle } = bucket;
  const kernels = ['wasm', 'atomics'] as const;
  const jobs = [
    { handle, kernels, call: 'tryConsume', n: 3 },
    { handle, kernels, call: 'consumeOrDrain', n: 7 },
    { handle, kernels, call: 'take and return', n: 5 },
  ] as const;

  let counted = 0;
  let uncounted = 0;
  const hasRaced = () => (bucket.stats().lostRaces ?? 0) > 0;
  for (let ended = 0; ended < ENDED || (!hasRaced() && ended < MOST_ENDED); ended += AT_ONCE) {
    const job = jobs[(ended / AT_ONCE) % jobs.length] ?? jobs[0];
    counted += (await terminated(job)).admitted;
    uncounted += AT_ONCE * job.n;
    expect(bucket.tryConsume(), 'the bucket goes on').toBe(true);
    counted++;
  }
  expect(hasRaced(), 'races lost').toBe(true);
  const taken = burst - bucket.balance();
  expect(taken).toBeGreaterThanOrEqual(counted);
  expect(taken).toBeLessThanOrEqual(counted + uncounted);
});

test('threads terminated in the middle of a reconfiguration leave a working bucket', async () => {
  const clock = ManualClock.create();
  const limits = [
    { rate: 1000, burst: 1_000_000 },
    { rate: 4000, burst: 2_000_000 },
  ];
  const bucket = TokenBucket.create({ rate: 1000, burst: 1_000_000, clock });
  const { handle } = bucket;
  const kernels = ['wasm', 'atomics'] as const;
  let counted = 0;
  let uncounted = 0;
  for (let ended = 0; ended < part(20, 8); ended += AT_ONCE) {
    counted += (await terminated({ handle, kernels, call: 'tryConsume', n: 2, limits })).admitted;
    uncounted += AT_ONCE * 2;
  }
  const left = bucket.balance();
  expect(1_000_000 - left).toBeGreaterThanOrEqual(counted);
  expect(1_000_000 - left).toBeLessThanOrEqual(counted + uncounted);
  expect(bucket.tryConsume(left)).toBe(true);
  expect(bucket.tryConsume()).toBe(false);
  clock.advance(1000);
  expect(bucket.balance()).toBe(bucket.rate);
  // Each terminated thread may have kept one of the records.
  for (let rate = 1; rate <= 10; rate++) bucket.reconfigure({ rate });
  expect(bucket.rate).toBe(10);
});
