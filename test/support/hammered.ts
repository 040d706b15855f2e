import { expect } from 'vitest';
import type { LimiterHandle } from '../../src/index.ts';
import type { HammerJob } from '../workers/takers.ts';
import { Board } from './board.ts';
import { Crew } from './crew.ts';

export const THREADS = 4;
/** A busy machine may run the threads one after the other. */
const MOST_LEGS = 5_000;

interface Hammered {
  readonly handle?: LimiterHandle;
  stats?(): { readonly failedExchanges?: number };
}

/** Whether a thread has lost an exchange to another: without one nothing was shown. */
export function hasRaced(limiter: Hammered): boolean {
  return (limiter.stats?.().failedExchanges ?? 0) > 0;
}

/** Repeats a leg of a race as often as it must be, and until it has shown something. */
export function untilShown(leg: (leg: number) => void, hasShown: () => boolean, least = 1): void {
  for (let legs = 0; legs < least || !hasShown(); legs++) {
    expect(legs, 'legs without a race that was lost: nothing was shown').toBeLessThan(MOST_LEGS);
    leg(legs);
  }
}

/** Has four threads take single tokens, or do the job, while the legs walk them and check. */
export async function hammered(
  limiter: Hammered,
  job: Partial<HammerJob>,
  leg: (board: Board, leg: number) => void,
  least?: number,
  hasShown = () => hasRaced(limiter),
): Promise<Board> {
  const { handle } = limiter;
  if (handle === undefined) throw new Error('no thread can attach to it');
  const board = Board.for(THREADS);
  const crew = await Crew.of('takers', 'hammer', THREADS);
  const done = crew.run({ handle, board: board.buffer, call: 'tryConsume', n: 1, ...job });
  untilShown((legs) => leg(board, legs), hasShown, least);
  board.stop();
  await done;
  return board;
}
