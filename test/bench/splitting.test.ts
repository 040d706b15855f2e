import { expect, test } from 'vitest';
import { type Traffic, waitsOf } from '../../bench/splitting.ts';

const TRAFFIC = { rate: 1000, burst: 24, durationMs: 20_000, seed: 7 } satisfies Partial<Traffic>;

test('requests that come as the bucket fills wait in one bucket as theory has it', () => {
  // 24 at once, of which each finds its token; the bucket is full again before the next.
  const traffic = { ...TRAFFIC, pattern: 'bursts size=24 everyMs=30' };
  expect(waitsOf(traffic, 1)).toEqual({ mean: 0, p99: 0 });
  // A bucket of 12 takes half of the burst at most, and some threads get more than half.
  expect(waitsOf(traffic, 2).mean).toBeGreaterThan(0);
});

test('a burst beyond the bucket waits for one token after the other', () => {
  const { mean, p99 } = waitsOf({ ...TRAFFIC, pattern: 'bursts size=48 everyMs=100' }, 1);
  // The last 24 of 48 wait for 1 to 24 ms.
  expect(mean).toBeCloseTo((24 * 25) / 2 / 48, 3);
  expect(p99).toBeCloseTo(24, 3);
});

test.each(['poisson rate=900', 'poisson rate=450 + bursts size=48 everyMs=106.7'])(
  'the more parts, the longer the waits: %s',
  (pattern) => {
    const means = [1, 2, 4, 8].map((parts) => waitsOf({ ...TRAFFIC, pattern }, parts).mean);
    expect(means).toEqual(means.toSorted((a, b) => a - b));
    expect(new Set(means).size).toBe(means.length);
  },
);
