import { describe, expect, test } from 'vitest';
import { LimitSet, ManualClock } from '../../src/index.ts';
import { LimitSetOracle } from '../oracle/limit-set.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { part, Random, SEED } from '../support/random.ts';
import type { HammerJob } from '../workers/hammer.ts';

const THREADS = 4;
/** How often the totals are compared, each time after some moves of the clock. */
const LEGS = part(200, 20);
/** Without a failed exchange, nothing was shown. */
const MOST_LEGS = 10_000;
const MOVES = 10;
const MOST_STEPS = 64;
const STEP_MS = 1 / 32;

const LIMITS = [
  { rate: 100, burst: 10 },
  { rate: 2000 / 60, burst: 50 },
];

describe('four threads admit exactly what the reference admits', () => {
  test.each(KERNEL_MIXES)('$mix', async ({ kernels }) => {
    const clock = ManualClock.create();
    const bucket = LimitSet.create({ limits: LIMITS, clock, stats: true });
    // Each starts full.
    let nowMs = 0;
    const reference = new LimitSetOracle(LIMITS, 10, () => nowMs * 1000);
    reference.putBack(50);
    const board = Board.for(THREADS);
    const crew = await Crew.start<HammerJob, void>('hammer', THREADS);
    const { handle } = bucket;
    const done = crew.run({ handle, board: board.buffer, kernels, call: 'tryConsume', n: 1 });
    const random = new Random(SEED);
    let admitted = 0;
    const take = () => {
      // No token is completed within a tick of one of these instants.
      const there = Math.max(0, Math.floor(reference.balance().toNumber() + 1e-6));
      reference.take(there);
      admitted += there;
    };
    board.walk();
    take();
    for (let leg = 0; leg < LEGS || bucket.stats().failedExchanges === 0; leg++) {
      expect(leg, 'legs without a failed exchange').toBeLessThan(MOST_LEGS);
      const instants: number[] = [];
      nowMs += leg % 5 === 4 ? 30_000 : 0;
      for (let move = 0; move < MOVES; move++) {
        nowMs += (1 + random.below(MOST_STEPS)) * STEP_MS;
        instants.push(nowMs);
        take();
      }
      board.walk(...instants);
      expect(board.admitted, `after ${nowMs} ms`).toBe(admitted);
    }
    board.stop();
    await done;
    // More than the bursts, so time passed.
    expect(admitted).toBeGreaterThan(60);
  });
});
