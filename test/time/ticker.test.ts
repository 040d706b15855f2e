import { afterEach, expect, test, vi } from 'vitest';
import { TICKER_CLOCK } from '../../src/memory/layout.ts';
import { createTickerCell } from '../../src/time/ticker-reader.ts';
import { runTicker } from '../../src/time/ticker-thread.ts';

// Runs the ticker's thread code in this thread; it ends when the mocked clock has no readings left.

const ENDED = new Error('no reading is left');
afterEach(() => vi.restoreAllMocks());

/** Ticks at these clock readings in microseconds; returns the published times and posted messages. */
function ticked(periodMs: number, readings: readonly number[]) {
  const cell = createTickerCell(periodMs);
  const left = [...readings];
  const published: number[] = [];
  const said: unknown[] = [];
  let beats = cell.beats[0];
  vi.spyOn(process, 'hrtime').mockImplementation(() => {
    const beat = cell.beats[0] as number;
    if (beat !== beats) published.push(cell.isSpinning ? cell.timeOf(beat, 1e7) : cell.now());
    beats = beat;
    const us = left.shift();
    if (us === undefined) throw ENDED;
    return [Math.floor(us / 1e6), (us % 1e6) * 1000];
  });
  const parentPort = { postMessage: (message: unknown) => said.push(message) };
  expect(() => runTicker({ parentPort, workerData: cell.buffer }, TICKER_CLOCK)).toThrow(ENDED);
  return { published, said };
}

test('a ticker publishes the time once per period, and posts a message the first time', () => {
  const { published, said } = ticked(1, [5e6, 5e6 + 400, 5e6 + 999, 5e6 + 1000, 5e6 + 2000]);
  // The first is late for a schedule that began at 0, so the second follows at once.
  expect(published).toEqual([5e6, 5e6 + 400, 5e6 + 1000, 5e6 + 2000]);
  expect(said).toEqual(['ticking']);
});

test('late wake-ups do not add up, and missed ticks are not made up for', () => {
  const { published } = ticked(1, [0, 1300, 1999, 2000, 7500, 7600, 8499, 8500]);
  // At 1300 for 1000, so the next is due at 2000; at 7500 for 3000, so the schedule restarts there.
  expect(published).toEqual([0, 1300, 2000, 7500, 7600, 8500]);
});

test('a ticker that spins publishes each quarter of a microsecond once', () => {
  const { published, said } = ticked(0, [5e6, 5e6, 5e6 + 0.1, 5e6 + 0.3, 5e6 + 40, 8e6 + 0.75]);
  expect(published).toEqual([5e6, 5e6 + 0.25, 5e6 + 40, 8e6 + 0.75]);
  expect(said).toEqual(['ticking']);
});
