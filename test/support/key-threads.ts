import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished } from 'vitest';
import type { KeyedLimitSet, KeyedStats, KeyedTokenBucket } from '../../src/index.ts';
import { compiled } from './crew.ts';
import { RUSH, type Rush } from './key-rush.ts';
import { newCounts, newSignals, raise, SIGNAL, type Traffic } from './key-traffic.ts';

const THREADS = 4;

type Keyed = KeyedTokenBucket | KeyedLimitSet;

/** Compiled calls are so short that on a busy machine two may never overlap in a run. */
export const MOST_RUNS = 50;

/** Starts a thread, waits until it is ready, and ends it with the test. */
async function start(script: string, workerData: object): Promise<Worker> {
  const worker = new Worker(compiled(script), { workerData });
  onTestFinished(async () => void (await worker.terminate()));
  await once(worker, 'message');
  return worker;
}

/** Starts threads that share this data, each with its number. */
function startAll(script: string, data: object): Promise<Worker[]> {
  return Promise.all(Array.from({ length: THREADS }, (_, me) => start(script, { ...data, me })));
}

/** Resolves when the thread has ended; a short one may have ended before the call. */
async function ended(worker: Worker): Promise<void> {
  if (worker.threadId !== -1) await once(worker, 'exit');
}

/**
 * Lets four threads take the tokens of the same keys, each time of a new table, until a race is
 * lost, and `check` is not false: it saw all it is to see.
 */
export async function rush(
  make: () => Keyed,
  rounds: number,
  how: Pick<Rush, 'kernels' | 'keys' | 'returning' | 'stepMs' | 'tiers' | 'bursts'>,
  check: (given: number[], stats: KeyedStats) => unknown,
): Promise<void> {
  for (let rushes = 1; ; rushes++) {
    const made = make();
    const given = newCounts(rounds * how.keys);
    const gate = newCounts(RUSH.size);
    const data = { ...how, handle: made.handle, given, gate, threads: THREADS };
    const threads = await startAll('key-rush', data);
    await Promise.all(threads.map(ended));
    const stats = made.stats();
    const hasShown = check([...given], stats) !== false;
    if (hasShown && (stats.lostRaces ?? 0) > 0) return;
    expect(rushes, 'rushes that showed too little').toBeLessThan(MOST_RUNS);
  }
}

/** Four threads make the calls; checks that each was counted. */
export async function traffic(
  made: Keyed,
  data: Required<Pick<Traffic, 'given' | 'draw' | 'calls'>>,
): Promise<KeyedStats> {
  const signals = newSignals(THREADS);
  const threads = await startAll('key-traffic', { ...data, handle: made.handle, signals });
  raise(signals, SIGNAL.go);
  await Promise.all(threads.map((worker) => once(worker, 'message')));
  const stats = made.stats();
  const admitted = data.given.reduce((sum, tokens) => sum + tokens, 0);
  expect(stats).toMatchObject({ calls: THREADS * data.calls, admitted });
  return stats;
}

/**
 * Terminates threads in the middle of their calls, while one survives them all. Returns what ends
 * that one.
 */
export async function terminateCallers(
  { handle }: Keyed,
  given: Traffic['given'],
  kills: number,
): Promise<() => Promise<void>> {
  const batchSize = 10;
  // The last batch may go beyond the number of kills.
  const signals = newSignals(kills + batchSize);
  raise(signals, SIGNAL.go);
  const data = { handle, given, signals, draw: 'even' } as const;
  const survivor = await start('key-traffic', { ...data, me: 0 });
  const called = (thread: number) => Atomics.load(signals, SIGNAL.calls + thread);
  for (let killed = 0; killed < kills; killed += batchSize) {
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
  return async () => {
    const gone = once(survivor, 'exit');
    raise(signals, SIGNAL.stop);
    await gone;
  };
}
