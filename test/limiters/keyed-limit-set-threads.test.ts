import { describe, expect, test } from 'vitest';
import { KeyedLimitSet, ManualClock } from '../../src/index.ts';
import { SetKeys } from '../oracle/keys.ts';
import type { RateLimit } from '../oracle/limit-set.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { rush } from '../support/key-threads.ts';

const THREADS = 4;
/** The first holds back a burst, the second what follows. */
const LIMITS = [
  { rate: 1000, burst: 5 },
  { rate: 250, burst: 12 },
] as const satisfies readonly RateLimit[];

function create(
  capacity: number,
  clock: ManualClock,
  limits: readonly [RateLimit, ...RateLimit[]] = LIMITS,
): KeyedLimitSet {
  return KeyedLimitSet.create({ limits, capacity, clock, stats: true, whenFull: 'refuse' });
}

function sum(given: readonly number[]): number {
  return given.reduce((total, tokens) => total + tokens, 0);
}

describe.each(KERNEL_MIXES)('four threads that rush for the same keys, $mix,', ({ kernels }) => {
  test('admit exactly what the reference admits', async () => {
    const rounds = 1000;
    const keys = 3;
    let nowUs = 0;
    const exact = new SetKeys<number>(LIMITS, () => nowUs);
    const expected = Array.from({ length: rounds * keys }, (_, count) => {
      nowUs = 1000 * (Math.floor(count / keys) + 1);
      return exact.of(count % (2 * keys)).drain(THREADS * 10);
    });
    // Each of the limits has held back some calls.
    expect(new Set(expected)).toEqual(new Set([5, 2, 1, 0]));
    const make = () => create(1000, ManualClock.create());
    await rush(make, rounds, { kernels, keys, returning: true, stepMs: 1 }, (given, stats) => {
      expect(given).toEqual(expected);
      expect(stats.admitted).toBe(sum(given));
    });
  });

  test("never admit more than the smallest burst where every entry is another key's to reclaim", async () => {
    const rounds = 1500;
    const keys = 6;
    // All buckets are full again in every round.
    const make = () => create(4, ManualClock.create());
    await rush(make, rounds, { kernels, keys, returning: true, stepMs: 50 }, (given, stats) => {
      expect(given.filter((tokens) => tokens > 5)).toEqual([]);
      expect(stats.admitted).toBe(sum(given));
      expect(stats.reclaimed).toBeGreaterThan(rounds);
      // A race may refuse one call too many, but rarely does.
      expect(given.filter((tokens) => tokens < 5).length).toBeLessThan((rounds * keys) / 100);
    });
  });
});
