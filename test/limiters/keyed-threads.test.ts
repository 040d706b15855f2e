import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { KeyedTokenBucket, type KeyedTokenBucketOptions } from '../../src/keyed.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { MOST_RUNS, rush, terminateCallers, traffic } from '../support/key-threads.ts';
import { keyName, newCounts } from '../support/key-traffic.ts';
import { part } from '../support/random.ts';

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

test.each([
  { keys: 100_000, capacity: 100_000, draw: 'zipf', calls: 150_000 },
  // Only a quarter of the keys have room at a time, so entries are reclaimed continuously.
  { keys: 400, capacity: 50, draw: 'even', calls: 150_000 },
] as const)(
  'four threads never admit one of $keys keys ($draw) more than burst + rate x t',
  async (given) => {
    const { keys, capacity, draw, calls } = given;
    const rate = 1000;
    const burst = 2;
    for (let runs = 1; ; runs++) {
      const clock = ManualClock.create();
      const made = create({ rate, burst, capacity, clock, whenFull: 'refuse' });
      const counts = newCounts(keys);
      const stats = await traffic(made, { given: counts, draw, calls });
      const allowed = Math.floor(burst + (rate * clock.nowMs) / 1000);
      expect(Math.max(...counts)).toBeLessThanOrEqual(allowed);
      expect(stats.longestProbe).toBeLessThanOrEqual(64);
      if (capacity < keys) expect(stats.reclaimed).toBeGreaterThan(1000);
      if ((stats.lostRaces ?? 0) > 0) return;
      expect(runs, 'runs without a lost race: nothing was shown').toBeLessThan(MOST_RUNS);
    }
  },
);

const KILLS = part(100, 10);

test(`${KILLS} threads terminated at random leave a table in which the others go on`, async () => {
  const clock = ManualClock.create();
  const capacity = 60;
  const made = create({ rate: 1000, burst: 2, capacity, clock, whenFull: 'refuse' });
  const keys = 500;
  const given = newCounts(keys);
  const end = await terminateCallers(made, given, KILLS);
  const { shared } = made.stats();
  await end();
  clock.advance(1000);
  for (let key = 0; key < capacity; key++) expect(made.consumeOrDrain(`new-${key}`, 9)).toBe(2);
  expect(made.stats().entries).toBe(capacity);
  expect(shared).toBeGreaterThan(0);
  expect(Math.max(...given)).toBeLessThanOrEqual(2 + clock.nowMs);
  expect(made.tryConsume(keyName(0))).toBe(true);
});
