import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { KeyedTokenBucket, ManualClock } from '../../src/index.ts';
import { KERNEL_MIXES } from '../support/kernels.ts';
import { RUSH } from '../support/key-rush.ts';
import { KeySeveral } from '../support/key-several.ts';
import type { TierLimit } from '../support/key-tiers.ts';
import { keyName, newCounts, newSignals, raise, SIGNAL } from '../support/key-traffic.ts';
import { part } from '../support/random.ts';

const THREADS = 4;
/** Compiled calls are so short that on a busy machine two may never overlap in a run. */
const MOST_RUNS = 50;
/** The first holds back a burst, the second what follows. */
const LIMITS: readonly TierLimit[] = [
  { tokenUs: 1000, burst: 5 },
  { tokenUs: 4000, burst: 12 },
];

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

async function ended(worker: Worker): Promise<void> {
  if (worker.threadId !== -1) await once(worker, 'exit');
}

function create(capacity: number, clock: ManualClock, given = LIMITS): KeyedTokenBucket {
  const limits = given.map(({ tokenUs, burst }) => ({ rate: 1e6 / tokenUs, burst }));
  return KeyedTokenBucket.create({ limits, capacity, clock, stats: true, whenFull: 'refuse' });
}

describe.each(KERNEL_MIXES)('four threads that rush for the same keys, $mix,', ({ kernels }) => {
  /** Runs on new tables, checking each, until a race is lost. */
  async function rush(
    capacity: number,
    rounds: number,
    keys: number,
    stepMs: number,
    check: (given: readonly number[], reclaimed: number) => void,
  ): Promise<void> {
    for (let rushes = 1; ; rushes++) {
      const made = create(capacity, ManualClock.create());
      const given = newCounts(rounds * keys);
      const gate = newCounts(RUSH.size);
      const how = { keys, returning: true, stepMs, threads: THREADS };
      const data = { ...how, handle: made.handle, kernels, given, gate };
      const starting = Array.from({ length: THREADS }, (_, me) =>
        start('key-rush', { ...data, me }),
      );
      const threads = await Promise.all(starting);
      await Promise.all(threads.map(ended));
      const { lostRaces = 0, reclaimed, admitted } = made.stats();
      expect(admitted).toBe(given.reduce((sum, tokens) => sum + tokens, 0));
      check([...given], reclaimed);
      if (lostRaces > 0) return;
      expect(rushes, 'rushes without a lost race').toBeLessThan(MOST_RUNS);
    }
  }

  test('admit exactly what the reference admits', async () => {
    const rounds = 1000;
    const keys = 3;
    const exact = new KeySeveral<number>(LIMITS);
    const expected = Array.from({ length: rounds * keys }, (_, count) => {
      const nowUs = 1000 * (Math.floor(count / keys) + 1);
      return exact.drain(count % (2 * keys), nowUs, THREADS * 10);
    });
    // Each of the limits has held back some calls.
    expect(new Set(expected)).toEqual(new Set([5, 2, 1, 0]));
    await rush(1000, rounds, keys, 1, (given) => {
      expect(given).toEqual(expected);
    });
  });

  test("never admit more than the smallest burst where every entry is another key's to reclaim", async () => {
    const rounds = 1500;
    const keys = 6;
    // All buckets are full again in every round.
    await rush(4, rounds, keys, 50, (given, reclaimed) => {
      expect(given.filter((tokens) => tokens > 5)).toEqual([]);
      expect(reclaimed).toBeGreaterThan(rounds);
      // A race may refuse one call too many, but rarely does.
      expect(given.filter((tokens) => tokens < 5).length).toBeLessThan((rounds * keys) / 100);
    });
  });
});

test('four threads never admit a key more than any of its limits allows', async () => {
  const keys = 400;
  const calls = 100_000;
  const clock = ManualClock.create();
  // Soon full, so that entries are reclaimed continuously.
  const limits = [
    { tokenUs: 500, burst: 1 },
    { tokenUs: 1000, burst: 2 },
  ];
  const made = create(50, clock, limits);
  const given = newCounts(keys);
  const signals = newSignals(THREADS);
  const data = { handle: made.handle, given, signals, draw: 'even', calls };
  const starting = Array.from({ length: THREADS }, (_, me) =>
    start('key-traffic', { ...data, me }),
  );
  const threads = await Promise.all(starting);
  raise(signals, SIGNAL.go);
  await Promise.all(threads.map((worker) => once(worker, 'message')));
  for (const { tokenUs, burst } of limits) {
    expect(Math.max(...given)).toBeLessThanOrEqual(burst + clock.now() / tokenUs);
  }
  const stats = made.stats();
  const total = given.reduce((sum, tokens) => sum + tokens, 0);
  expect(stats).toMatchObject({ calls: THREADS * calls, admitted: total });
  expect(stats.reclaimed).toBeGreaterThan(1000);
});

const KILLS = part(50, 10);

test(`${KILLS} threads terminated at random leave a table in which the others go on`, async () => {
  const batchSize = 10;
  const clock = ManualClock.create();
  const capacity = 60;
  const made = create(capacity, clock);
  const given = newCounts(500);
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
  const gone = once(survivor, 'exit');
  raise(signals, SIGNAL.stop);
  await gone;
  clock.advance(1000);
  for (let key = 0; key < capacity; key++) expect(made.consumeOrDrain(`new-${key}`, 99)).toBe(5);
  expect(made.stats().entries).toBe(capacity);
  for (const { tokenUs, burst } of LIMITS) {
    expect(Math.max(...given)).toBeLessThanOrEqual(burst + clock.now() / tokenUs);
  }
  expect(made.tryConsume(keyName(0))).toBe(true);
});
