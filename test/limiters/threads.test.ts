import { describe, expect, test } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { Board } from '../support/board.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES, type KernelMix } from '../support/kernels.ts';
import { SHARE } from '../support/random.ts';
import { Rational } from '../support/rational.ts';
import type { HammerJob } from '../workers/hammer.ts';

const THREADS = 4;
const RATES = SHARE < 1 ? [1 / 3, 1e9] : [0.001, 1 / 3, 1, 1000, 3e6, 1e9];
const CASES: readonly (readonly [burst: number, kernels: KernelMix])[] = [
  [1, ['wasm']],
  [10, ['wasm']],
  [10, ['atomics']],
  [10, ['wasm', 'atomics']],
  [100_000, ['wasm', 'atomics']],
];
/** In `npm test` only mixed kernels, and the smallest burst. */
const TRIED = SHARE < 1 ? CASES.filter(([n, { length }]) => n === 1 || length > 1) : CASES;
/** Moves of the clock after each of which the total is checked. */
const CHECKED_MOVES = 12;
/** Then the clock moves this often at full speed, until a race is lost. */
const MOVES_OF_A_LEG = 250;
const MOST_LEGS = 5_000;

/**
 * Tokens that have flowed in after each move of the clock. Thirds of a burst, so that no move
 * overfills the bucket, and quarters of a token, so that the total must be rounded down. With a
 * burst of 1 every other move completes a token; with other fractions the next move would overflow.
 */
function inflowAfter(move: number, burst: number): number {
  if (burst === 1) return move / 2;
  const quarter = ([0.25, 0.5, 0.75] as const)[move % 3] ?? 0;
  return Math.round(move * 0.37 * burst) + quarter;
}

/** floor(burst + rate x t), t being the clock's time to the nearest 1/4096 microsecond. */
function allowance(rate: number, burst: number, nowUs: number): number {
  const half = Rational.of(1 / 8192);
  const micros = Rational.of(nowUs).plus(half);
  const inflow = micros.times(Rational.of(rate)).over(Rational.of(1e6));
  return Rational.of(burst).plus(inflow).floor().toNumber();
}

describe.each(RATES)('at %f tokens a second', (rate) => {
  test.each(TRIED)(
    'four threads admit exactly burst + rate x t after every move of the clock, with a burst of %d, by %s',
    async (burst, kernels) => {
      const clock = ManualClock.create();
      const bucket = TokenBucket.create({ rate, burst, clock, stats: true });
      const board = Board.for(THREADS);
      const crew = await Crew.start<HammerJob, void>('hammer', THREADS);
      const { handle } = bucket;
      const job = { handle, board: board.buffer, kernels, call: 'tryConsume', n: 1 } as const;
      const done = crew.run(job);

      const walkTo = (...moves: number[]) => {
        board.walk(...moves.map((move) => (inflowAfter(move, burst) / rate) * 1000));
        const wanted = allowance(rate, burst, clock.now());
        expect(board.admitted, `after move ${moves.at(-1)}`).toBe(wanted);
      };
      let moves = 0;
      while (moves < CHECKED_MOVES) walkTo(moves++);
      for (let leg = 0; leg < MOST_LEGS && bucket.stats().failedExchanges === 0; leg++) {
        walkTo(...Array.from({ length: MOVES_OF_A_LEG }, () => moves++));
      }
      board.stop();
      await done;

      const { calls, admitted, refused, failedExchanges } = bucket.stats();
      expect(failedExchanges, 'races lost: without them nothing was shown').toBeGreaterThan(0);
      expect({ calls, admitted }).toEqual({ calls: board.calls, admitted: board.admitted });
      expect(refused).toBe(calls - admitted);
    },
  );
});

describe.each(KERNEL_MIXES)('with $mix kernels', ({ kernels }) => {
  test.each([
    ['consumeOrDrain', 1000],
    ['tryConsume', 3],
  ] as const)('four threads that call %s(%d) get all whole tokens, each once', async (call, n) => {
    const clock = ManualClock.create();
    // 9 3/4 tokens flow in per move, so there are never as many as the largest request.
    const bucket = TokenBucket.create({ rate: 1000, burst: 1000, initial: 0, clock, stats: true });
    const board = Board.for(THREADS);
    const crew = await Crew.start<HammerJob, void>('hammer', THREADS);
    const done = crew.run({ handle: bucket.handle, board: board.buffer, kernels, call, n });
    let moves = 0;
    do {
      board.walk(...Array.from({ length: MOVES_OF_A_LEG }, () => ++moves * 9.75));
      const unit = call === 'tryConsume' ? n : 1;
      expect(board.admitted).toBe(Math.floor((moves * 9.75) / unit) * unit);
    } while (bucket.stats().failedExchanges === 0 && moves < MOST_LEGS * MOVES_OF_A_LEG);
    board.stop();
    await done;
    const { admitted, failedExchanges } = bucket.stats();
    expect(failedExchanges).toBeGreaterThan(0);
    expect(admitted).toBe(board.admitted);
  });
});
