import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { KeyedTokenBucket, type KeyedTokenBucketOptions } from '../../src/keyed.ts';
import { RUSH, type Rush } from '../support/key-rush.ts';
import { keyName, newCounts, newSignals, raise, SIGNAL } from '../support/key-traffic.ts';

const THREADS = 4;
const started: Worker[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.terminate()));
});

/** Starts a thread, and waits until it is ready. */
async function start(script: string, workerData: object): Promise<Worker> {
  // Threads run what `npm run build` compiled.
  const url = new URL(`../../dist/test/workers/${script}.js`, import.meta.url);
  const worker = new Worker(url, { workerData });
  started.push(worker);
  await once(worker, 'message');
  return worker;
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

describe('four threads that rush for the same keys', () => {
  async function rush(
    made: KeyedTokenBucket,
    rounds: number,
    how: Partial<Rush>,
  ): Promise<number[]> {
    const { keys = 1 } = how;
    const given = newCounts(rounds * keys);
    const gate = newCounts(RUSH.size);
    const data = { handle: made.handle, given, gate, threads: THREADS, keys, ...how };
    const starting = Array.from({ length: THREADS }, () => start('key-rush', data));
    const threads = await Promise.all(starting);
    await Promise.all(threads.map((worker) => once(worker, 'exit')));
    expect(made.stats().lostRaces, 'races lost: without them nothing was shown').toBeGreaterThan(0);
    return [...given];
  }

  test('admit exactly the burst of a new key, every time', async () => {
    const rounds = 4000;
    const clock = ManualClock.create();
    const made = create({ rate: 1e-3, burst: 5, capacity: rounds, clock });
    const given = await rush(made, rounds, { returning: false, stepMs: 0 });
    expect(given.filter((tokens) => tokens !== 5)).toEqual([]);
    expect(made.stats()).toMatchObject({ entries: rounds, reclaimed: 0, admitted: 5 * rounds });
  });

  test("never admit more than the burst where every entry is another key's to reclaim", async () => {
    const rounds = 3000;
    const keys = 6;
    const clock = ManualClock.create();
    // All buckets are full again in every round.
    const made = create({ rate: 1000, burst: 3, capacity: 4, whenFull: 'refuse', clock });
    const given = await rush(made, rounds, { keys, returning: true, stepMs: 3 });
    expect(given.filter((tokens) => tokens > 3)).toEqual([]);
    expect(made.stats().reclaimed).toBeGreaterThan(rounds);
    // A race may refuse one too many; hardly any does.
    expect(given.filter((tokens) => tokens < 3).length).toBeLessThan((rounds * keys) / 100);
  });
});

test.each([
  { keys: 100_000, capacity: 100_000, draw: 'zipf', calls: 150_000 },
  // A quarter of the keys has room at a time, so entries are reclaimed without end.
  { keys: 400, capacity: 50, draw: 'even', calls: 150_000 },
] as const)(
  'four threads never admit one of $keys keys ($draw) more than burst + rate x t',
  async (given) => {
    const { keys, capacity, draw, calls } = given;
    const clock = ManualClock.create();
    const rate = 1000;
    const burst = 2;
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
    expect(stats.lostRaces, 'races lost: without them nothing was shown').toBeGreaterThan(0);
    if (capacity < keys) expect(stats.reclaimed).toBeGreaterThan(1000);
  },
);

test('a hundred threads terminated at random leave a table in which the others go on', async () => {
  const kills = 100;
  const batchSize = 10;
  const clock = ManualClock.create();
  const capacity = 60;
  const made = create({ rate: 1000, burst: 2, capacity, clock, whenFull: 'refuse' });
  const keys = 500;
  const given = newCounts(keys);
  const signals = newSignals(kills + 1);
  raise(signals, SIGNAL.go);
  const data = { handle: made.handle, given, signals, draw: 'even' } as const;
  const survivor = await start('key-traffic', { ...data, me: 0 });
  const called = (thread: number) => Atomics.load(signals, SIGNAL.calls + thread);
  for (let killed = 0; killed < kills; killed += batchSize) {
    const batch = Array.from({ length: batchSize }, (_, i) => killed + i + 1);
    const victims = await Promise.all(batch.map((me) => start('key-traffic', { ...data, me })));
    const before = called(0);
    const dying = victims.map(async (victim, i) => {
      // Somewhere in a call: it has made some, and makes them without end.
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
