import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import {
  type KeyedStats,
  KeyedTokenBucket,
  type KeyedTokenBucketOptions,
} from '../../src/keyed.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { RUSH, type Rush } from '../support/key-rush.ts';
import { keyName, newCounts, newSignals, raise, SIGNAL } from '../support/key-traffic.ts';
import { part } from '../support/random.ts';

const THREADS = 4;
const started: Worker[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.terminate()));
});

/** Starts a thread and waits until it is ready. */
async function start(script: string, workerData: object): Promise<Worker> {
  // Threads run what `npm run build` compiled.
  const url = new URL(`../../dist/test/workers/${script}.js`, import.meta.url);
  const worker = new Worker(url, { workerData });
  started.push(worker);
  await once(worker, 'message');
  return worker;
}

/** Resolves when the thread has ended; a short one may have ended before the call. */
async function ended(worker: Worker): Promise<void> {
  if (worker.threadId !== -1) await once(worker, 'exit');
}

function create(options: Partial<KeyedTokenBucketOptions>): KeyedTokenBucket {
  return KeyedTokenBucket.create({
    rate: 1000,
    burst: 10,
    capacity: 1000,
    stats: true,
    ...options,
  });
}

/** Compiled calls are so short that on a busy machine two may never overlap in a run. */
const MOST_RUNS = 50;

describe.each(KERNEL_MIXES)('four threads that rush for the same keys, $mix,', ({ kernels }) => {
  /** Runs on new tables until a race is lost, and `check` is not false: it saw all it is to see. */
  async function rush(
    make: () => KeyedTokenBucket,
    rounds: number,
    how: Pick<Rush, 'keys' | 'returning' | 'stepMs' | 'tiers' | 'bursts'>,
    check: (given: number[], stats: KeyedStats) => unknown,
  ): Promise<void> {
    for (let rushes = 1; ; rushes++) {
      const made = make();
      const given = newCounts(rounds * how.keys);
      const gate = newCounts(RUSH.size);
      const data = { ...how, handle: made.handle, kernels, given, gate, threads: THREADS };
      const starting = Array.from({ length: THREADS }, (_, me) =>
        start('key-rush', { ...data, me }),
      );
      const threads = await Promise.all(starting);
      await Promise.all(threads.map(ended));
      const stats = made.stats();
      const hasShown = check([...given], stats) !== false;
      if (hasShown && (stats.lostRaces ?? 0) > 0) return;
      expect(rushes, 'rushes that showed too little').toBeLessThan(MOST_RUNS);
    }
  }

  test('admit exactly the burst of a new key, every time', async () => {
    const rounds = 4000;
    const make = () =>
      create({ rate: 1e-3, burst: 5, capacity: rounds, clock: ManualClock.create() });
    await rush(make, rounds, { keys: 1, returning: false, stepMs: 0 }, (given, stats) => {
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
    await rush(make, rounds, { keys: 2, returning: false, stepMs: 0, tiers }, (given) => {
      expect(given.filter((tokens, key) => tokens !== (key % 2 === 0 ? 5 : 9))).toEqual([]);
    });
  });

  test('admit the burst before or after a change that one of them makes meanwhile', async () => {
    const rounds = 500;
    const bursts = [7, 5];
    const make = () =>
      create({ rate: 1e-3, burst: 5, capacity: rounds, clock: ManualClock.create() });
    const seen = new Set<number>();
    await rush(make, rounds, { keys: 1, returning: false, stepMs: 0, bursts }, (given) => {
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
    await rush(make, rounds, { keys, returning: true, stepMs: 3 }, (given, stats) => {
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
      const signals = newSignals(THREADS);
      const data = { handle: made.handle, given: counts, signals, draw, calls };
      const starting = Array.from({ length: THREADS }, (_, me) =>
        start('key-traffic', { ...data, me }),
      );
      const threads = await Promise.all(starting);
      raise(signals, SIGNAL.go);
      await Promise.all(threads.map((worker) => once(worker, 'message')));
      const allowed = Math.floor(burst + (rate * clock.nowMs) / 1000);
      expect(Math.max(...counts)).toBeLessThanOrEqual(allowed);
      const stats = made.stats();
      const total = counts.reduce((sum, tokens) => sum + tokens, 0);
      expect(stats).toMatchObject({ calls: THREADS * calls, admitted: total });
      expect(stats.longestProbe).toBeLessThanOrEqual(64);
      if (capacity < keys) expect(stats.reclaimed).toBeGreaterThan(1000);
      if ((stats.lostRaces ?? 0) > 0) return;
      expect(runs, 'runs without a lost race: nothing was shown').toBeLessThan(MOST_RUNS);
    }
  },
);

const KILLS = part(50, 10);

test(`${KILLS} threads terminated at random leave a table in which the others go on`, async () => {
  const batchSize = 10;
  const clock = ManualClock.create();
  const capacity = 60;
  const made = create({ rate: 1000, burst: 2, capacity, clock, whenFull: 'refuse' });
  const keys = 500;
  const given = newCounts(keys);
  const signals = newSignals(KILLS + 1);
  raise(signals, SIGNAL.go);
  const data = { handle: made.handle, given, signals, draw: 'even' } as const;
  const survivor = await start('key-traffic', { ...data, me: 0 });
  const called = (thread: number) => Atomics.load(signals, SIGNAL.calls + thread);
  for (let killed = 0; killed < KILLS; killed += batchSize) {
    const batch = Array.from({ length: batchSize }, (_, i) => killed + i + 1);
    const victims = await Promise.all(batch.map((me) => start('key-traffic', { ...data, me })));
    const before = called(0);
    const dying = victims.map(async (victim, i) => {
      // In the middle of a call: the thread makes calls in an endless loop.
      while (called(batch[i] ?? 0) < 50) await new Promise((resolve) => setImmediate(resolve));
      await victim.terminate();
    });
    await Promise.all(dying);
    while (called(0) === before) await new Promise((resolve) => setImmediate(resolve));
  }
  const { shared } = made.stats();
  const gone = once(survivor, 'exit');
  raise(signals, SIGNAL.stop);
  await gone;
  clock.advance(1000);
  for (let key = 0; key < capacity; key++) expect(made.consumeOrDrain(`new-${key}`, 9)).toBe(2);
  expect(made.stats().entries).toBe(capacity);
  expect(shared).toBeGreaterThan(0);
  expect(Math.max(...given)).toBeLessThanOrEqual(2 + clock.nowMs);
  expect(made.tryConsume(keyName(0))).toBe(true);
});
