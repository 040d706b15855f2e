import { describe, expect, test } from 'vitest';
import { KeyedLimitSet, type KeyedStats, ManualClock } from '../../src/index.ts';
import { KeyedTokenBucket, type KeyedTokenBucketOptions } from '../../src/keyed.ts';
import { SetKeys } from '../oracle/keys.ts';
import type { RateLimit } from '../oracle/limit-set.ts';
import { Crew } from '../support/crew.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { part } from '../support/random.ts';
import type { RushJob } from '../workers/takers.ts';

const THREADS = 4;
/** Of each thread. */
const CALLS = part(500_000, 50_000);
/** Compiled calls are so short that on a busy machine two may never overlap in a run. */
const MOST_RUNS = 500;

type Keyed = KeyedTokenBucket | KeyedLimitSet;

function newCounts(size: number): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4 * size));
}

function sum(given: Iterable<number>): number {
  return [...given].reduce((total, tokens) => total + tokens, 0);
}

/**
 * Lets four threads take the tokens of the same keys, each time of a new table, until a race is
 * lost, and `check` is not false: it saw all it is to see.
 */
async function rush(
  make: () => Keyed,
  rounds: number,
  how: Pick<RushJob, 'kernels' | 'keys' | 'returning' | 'stepMs' | 'tiers' | 'bursts'>,
  check: (given: number[], stats: KeyedStats) => unknown,
): Promise<void> {
  const crew = await Crew.of('takers', 'rush', THREADS);
  for (let rushes = 1; ; rushes++) {
    const made = make();
    const given = newCounts(rounds * how.keys);
    await crew.run({ ...how, handle: made.handle, given });
    const stats = made.stats();
    const hasShown = check([...given], stats) !== false;
    if (hasShown && (stats.failedExchanges ?? 0) > 0) return;
    expect(rushes, 'rushes that showed too little').toBeLessThan(MOST_RUNS);
  }
}

function create(options: Partial<KeyedTokenBucketOptions>): KeyedTokenBucket {
  const clock = ManualClock.create();
  const limit = { rate: 1000, burst: 10 };
  return KeyedTokenBucket.create({ ...limit, capacity: 1000, clock, stats: true, ...options });
}

/** The first holds back a burst, the second what follows. */
const LIMITS = [
  { rate: 1000, burst: 5 },
  { rate: 250, burst: 12 },
] as const satisfies readonly RateLimit[];

function createSet(capacity: number): KeyedLimitSet {
  const clock = ManualClock.create();
  const shared = { clock, stats: true, whenFull: 'refuse' } as const;
  return KeyedLimitSet.create({ limits: LIMITS, capacity, ...shared });
}

describe.each(KERNEL_MIXES)('four threads that rush for the same keys, $mix,', ({ kernels }) => {
  test('admit exactly the burst of a new key, every time', async () => {
    const rounds = part(4000, 1000);
    const make = () => create({ rate: 1e6, burst: 5, capacity: rounds });
    await rush(make, rounds, { kernels, keys: 1, returning: false, stepMs: 0 }, (given, stats) => {
      expect(given.filter((tokens) => tokens !== 5)).toEqual([]);
      expect(stats).toMatchObject({ entries: rounds, reclaimed: 0, admitted: 5 * rounds });
    });
  });

  test('admit exactly the burst of each tier', async () => {
    const rounds = 500;
    const tiers = [undefined, 'pro'];
    const pro = { rate: 1e-3, burst: 9 };
    const make = () => create({ rate: 1e-3, burst: 5, capacity: 2 * rounds, tiers: { pro } });
    await rush(make, rounds, { kernels, keys: 2, returning: false, stepMs: 0, tiers }, (given) => {
      expect(given.filter((tokens, key) => tokens !== (key % 2 === 0 ? 5 : 9))).toEqual([]);
    });
  });

  test('admit the burst before or after a change that one of them makes meanwhile', async () => {
    const rounds = 500;
    const bursts = [7, 5];
    const make = () => create({ rate: 1e6, burst: 5, capacity: rounds });
    const seen = new Set<number>();
    // A key that took nothing holds the lower burst at a raise, and is full in the next round.
    await rush(make, rounds, { kernels, keys: 1, returning: false, stepMs: 1, bursts }, (given) => {
      expect(given.filter((tokens) => tokens < 5 || tokens > 7)).toEqual([]);
      for (const tokens of given) seen.add(tokens);
      return seen.has(5) && seen.has(7);
    });
  });

  test('admit exactly what the reference admits of keys with several limits', async () => {
    const rounds = part(1000, 300);
    const keys = 3;
    let nowUs = 0;
    const exact = new SetKeys<number>(LIMITS, () => nowUs);
    const expected = Array.from({ length: rounds * keys }, (_, count) => {
      nowUs = 1000 * (Math.floor(count / keys) + 1);
      return exact.of(count % (2 * keys)).drain(THREADS * 10);
    });
    // Each of the limits has held back some calls.
    expect(new Set(expected)).toEqual(new Set([5, 2, 1, 0]));
    const make = () => createSet(1000);
    await rush(make, rounds, { kernels, keys, returning: true, stepMs: 1 }, (given, stats) => {
      expect(given).toEqual(expected);
      expect(stats.admitted).toBe(sum(given));
    });
  });

  test.each([
    ['bucket', part(3000, 1000), 3, 3, () => create({ burst: 3, capacity: 4, whenFull: 'refuse' })],
    ['limit set', part(1500, 500), 50, 5, () => createSet(4)],
  ] as const)(
    "never admit more than the burst of a %s where every entry is another key's to reclaim",
    async (_, rounds, stepMs, burst, make) => {
      const keys = 6;
      // All buckets are full again in every round.
      await rush(make, rounds, { kernels, keys, returning: true, stepMs }, (given, stats) => {
        expect(given.filter((tokens) => tokens > burst)).toEqual([]);
        expect(stats.admitted).toBe(sum(given));
        expect(stats.reclaimed).toBeGreaterThan(rounds);
        // A race may refuse one call too many, but rarely does.
        expect(given.filter((tokens) => tokens < burst).length).toBeLessThan((rounds * keys) / 100);
      });
    },
  );
});

test('four threads never admit a key more than burst + rate x t, nor look far for its entry', async () => {
  const [keys, rate, burst] = [100_000, 1000, 2];
  const crew = await Crew.of('takers', 'takeOfKeys', THREADS);
  for (let runs = 1; ; runs++) {
    const clock = ManualClock.create();
    const made = create({ rate, burst, capacity: keys, clock, whenFull: 'refuse' });
    const given = newCounts(keys);
    await crew.run({ handle: made.handle, given, calls: CALLS });
    const stats = made.stats();
    expect(stats).toMatchObject({ calls: THREADS * CALLS, admitted: sum(given) });
    expect(Math.max(...given)).toBeLessThanOrEqual(Math.floor(burst + (rate * clock.nowMs) / 1000));
    expect(stats.longestProbe).toBeLessThanOrEqual(64);
    if ((stats.failedExchanges ?? 0) > 0) return;
    expect(runs, 'runs without a failed exchange: nothing was shown').toBeLessThan(MOST_RUNS);
  }
});
