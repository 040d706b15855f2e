import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { KINDS } from '../support/kinds.ts';

// Of windows, logs and portions; a flow is more exactly shown by threads.test.ts and the like.
const FULL_AT_ONCE = KINDS.filter(({ promise }) => promise !== undefined);

const THREADS = 4;
const LIMIT = 1000;
const REFILL_MS = 10;
const MOVES_OF_A_LEG = 50;
const MOST_LEGS = 5000;

describe.each(FULL_AT_ONCE)('$name on four threads', ({ create }) => {
  it.each(KERNEL_MIXES)(
    'admits exactly its limit at each instant at which it is full again: $mix kernels',
    async ({ kernels }) => {
      const clock = ManualClock.create();
      const made = {
        limit: LIMIT,
        refillMs: REFILL_MS,
        clock,
        kernel: 'wasm',
        stats: true,
      } as const;
      const limiter = create(made);
      const { handle } = limiter;
      if (handle === undefined) throw new Error('no thread can attach to it');
      const board = Board.for(THREADS);
      const crew = await Crew.of('takers', 'hammer', THREADS);
      const job = { handle, board: board.buffer, kernels, call: 'consumeOrDrain', n: 3 } as const;
      const done = crew.run(job);
      board.walk();
      expect(board.admitted).toBe(LIMIT);
      let moves = 0;
      do {
        expect(moves, 'moves without a failed exchange').toBeLessThan(MOST_LEGS * MOVES_OF_A_LEG);
        board.walk(...Array.from({ length: MOVES_OF_A_LEG }, () => ++moves * REFILL_MS));
        expect(board.admitted, `after move ${moves}`).toBe((1 + moves) * LIMIT);
      } while (limiter.stats?.().failedExchanges === 0);
      board.stop();
      await done;
    },
  );
});
