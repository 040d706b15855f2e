import { expect, it } from 'vitest';
import { LatestByTime } from '../../src/simulate/latest-by-time.ts';

it('keeps the latest value of each slot, and the one before in slots without a change', () => {
  const permits = new LatestByTime(20);
  permits.set(2_500, 10);
  permits.set(2_600, 11);
  permits.set(4_000, 12);
  expect(permits.points()).toEqual([
    [0.001, 20],
    [0.002, 20],
    [0.003, 11],
    [0.004, 11],
    [0.005, 12],
  ]);
});

it('widens its slots, which keep their latest value', () => {
  const permits = new LatestByTime(0);
  for (let ms = 0; ms < 1_001; ms++) permits.set(ms * 1_000, ms);
  const points = permits.points();
  expect(points.slice(0, 3)).toEqual([
    [0.01, 9],
    [0.02, 19],
    [0.03, 29],
  ]);
  expect(points.at(-1)).toEqual([1.01, 1_000]);
});
