import { describe, expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { EXACT_LIMITS } from '../support/exact-limits.ts';
import { Gate } from '../support/gate.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { SEED } from '../support/random.ts';
import type { Decided, DecideJob } from '../workers/decider.ts';
import type { HammerJob } from '../workers/hammer.ts';

const THREADS = 4;
const LEGS = 100;
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
  const crew = await Crew.start<DecideJob, Decided>('decider', THREADS);
  for (let round = 0; ; round++) {
    const decided = await crew.run({
      handle: bucket.handle,
      gate: new Gate().buffer,
      arrivals: THREADS,
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
    const crew = await Crew.start<HammerJob, void>('hammer', THREADS);
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

  test('10,000 reconfigurations against four consuming threads keep the current rate', async () => {
    const clock = ManualClock.create();
    const rates = [1000, 2000, 4000, 8000];
    const bucket = TokenBucket.create({ rate: 1000, burst: 10_000, clock, stats: true });
    const board = Board.for(THREADS);
    const crew = await Crew.start<HammerJob, void>('hammer', THREADS);
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
      for (let i = 0; i < 100; i++) {
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
