import { expect, test } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { PlainBucket } from '../support/plain-limiter.ts';
import type { PlainJob } from '../workers/plain-hammer.ts';

const THREADS = 4;
const MOVES_OF_A_LEG = 250;
const MOST_LEGS = 5_000;
/** Enough to detect a load and a store instead of an exchange. */
const ENOUGH_LOST = 100;

test.each([
  [1, 1],
  [1 / 3, 100],
])(
  'at %f tokens a second, four threads on a plain bucket admit exactly burst + rate x t, with a burst of %d',
  async (rate, burst) => {
    const clock = ManualClock.create();
    const { memory } = PlainBucket.create({ rate, burst, clock });
    const board = Board.for(THREADS);
    const lost = new SharedArrayBuffer(4);
    const failedExchanges = () => Atomics.load(new Int32Array(lost), 0);
    const crew = await Crew.start<PlainJob, void>('plain-hammer', THREADS);
    const job = { memory, rate, burst, clock: clock.handle, board: board.buffer, lost };
    const done = crew.run(job);

    // Half a token flows in per move, so nothing is lost and every other move admits nothing.
    const tokenMs = 1000 / rate;
    let moves = 0;
    board.walk();
    expect(board.admitted).toBe(burst);
    do {
      board.walk(...Array.from({ length: MOVES_OF_A_LEG }, () => (++moves / 2) * tokenMs));
      expect(board.admitted, `after move ${moves}`).toBe(burst + Math.floor(moves / 2));
    } while (failedExchanges() < ENOUGH_LOST && moves < MOST_LEGS * MOVES_OF_A_LEG);
    board.stop();
    await done;
    expect(failedExchanges(), 'races lost: without them nothing was shown').toBeGreaterThan(0);
  },
);
