import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { KeyedTokenBucket, type KeyedTokenBucketOptions } from '../../src/keyed.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { newCounts } from '../support/key-jobs.ts';
import { MOST_RUNS, rush, traffic } from '../support/key-threads.ts';
import { part } from '../support/random.ts';

/** Of each thread. */
const CALLS = part(500_000, 50_000);

function create(options: Partial<KeyedTokenBucketOptions>): KeyedTokenBucket {
  return KeyedTokenBucket.create({
    rate: 1000,
    burst: 10,
    capacity: 1000,
    stats: true,
    ...options,
  });
}

describe.each(KERNEL_MIXES)('four threads that rush for the same keys, $mix,', ({ kernels }) => {
  test('admit exactly the burst of a new key, every time', async () => {
    const rounds = 4000;
    const make = () =>
      create({ rate: 1e6, burst: 5, capacity: rounds, clock: ManualClock.create() });
    await rush(make, rounds, { kernels, keys: 1, returning: false, stepMs: 0 }, (given, stats) => {
      expect(given.filter((tokens) => tokens !== 5)).toEqual([]);
      expect(stats).toMatchObject({ entries: rounds, reclaimed: 0, admitted: 5 * rounds });
    });
  });

  test('admit exactly the burst of each tier', async () => {
    const rounds = 500;
    const tiers = [undefined, 'pro'];
    const make = () =>
      create({
        ...{ rate: 1e-3, burst: 5, capacity: 2 * rounds, clock: ManualClock.create() },
        tiers: { pro: { rate: 1e-3, burst: 9 } },
      });
    await rush(make, rounds, { kernels, keys: 2, returning: false, stepMs: 0, tiers }, (given) => {
      expect(given.filter((tokens, key) => tokens !== (key % 2 === 0 ? 5 : 9))).toEqual([]);
    });
  });

  test('admit the burst before or after a change that one of them makes meanwhile', async () => {
    const rounds = 500;
    const bursts = [7, 5];
    const make = () =>
      create({ rate: 1e6, burst: 5, capacity: rounds, clock: ManualClock.create() });
    const seen = new Set<number>();
    // A key that took nothing holds the lower burst at a raise, and is full in the next round.
    await rush(make, rounds, { kernels, keys: 1, returning: false, stepMs: 1, bursts }, (given) => {
      expect(given.filter((tokens) => tokens < 5 || tokens > 7)).toEqual([]);
      for (const tokens of given) seen.add(tokens);
      return seen.has(5) && seen.has(7);
    });
  });

  test("never admit more than the burst where every entry is another key's to reclaim", async () => {
    const rounds = 3000;
    const keys = 6;
    // All buckets are full again in every round.
    const make = () =>
      create({ burst: 3, capacity: 4, whenFull: 'refuse', clock: ManualClock.create() });
    await rush(make, rounds, { kernels, keys, returning: true, stepMs: 3 }, (given, stats) => {
      expect(given.filter((tokens) => tokens > 3)).toEqual([]);
      expect(stats.reclaimed).toBeGreaterThan(rounds);
      // A race may refuse one call too many, but rarely does.
      expect(given.filter((tokens) => tokens < 3).length).toBeLessThan((rounds * keys) / 100);
    });
  });
});

test('four threads never admit a key more than burst + rate x t, nor look far for its entry', async () => {
  const [keys, rate, burst] = [100_000, 1000, 2];
  for (let runs = 1; ; runs++) {
    const clock = ManualClock.create();
    const made = create({ rate, burst, capacity: keys, clock, whenFull: 'refuse' });
    const given = newCounts(keys);
    const stats = await traffic(made, { given, calls: CALLS });
    expect(Math.max(...given)).toBeLessThanOrEqual(Math.floor(burst + (rate * clock.nowMs) / 1000));
    expect(stats.longestProbe).toBeLessThanOrEqual(64);
    if ((stats.failedExchanges ?? 0) > 0) return;
    expect(runs, 'runs without a failed exchange: nothing was shown').toBeLessThan(MOST_RUNS);
  }
});
