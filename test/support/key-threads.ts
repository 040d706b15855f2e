import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished } from 'vitest';
import type { KeyedLimitSet, KeyedStats, KeyedTokenBucket } from '../../src/index.ts';
import { compiled } from './crew.ts';
import { newCounts, RUSH, type Rush, type Traffic } from './key-jobs.ts';

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
    if (hasShown && (stats.failedExchanges ?? 0) > 0) return;
    expect(rushes, 'rushes that showed too little').toBeLessThan(MOST_RUNS);
  }
}

/** Four threads make the calls; checks that each was counted. */
export async function traffic(
  made: Keyed,
  data: Pick<Traffic, 'given' | 'calls'>,
): Promise<KeyedStats> {
  const go = newCounts(1);
  const threads = await startAll('key-traffic', { ...data, handle: made.handle, go });
  Atomics.store(go, 0, 1);
  Atomics.notify(go, 0);
  await Promise.all(threads.map((worker) => once(worker, 'message')));
  const stats = made.stats();
  const admitted = data.given.reduce((sum, tokens) => sum + tokens, 0);
  expect(stats).toMatchObject({ calls: THREADS * data.calls, admitted });
  return stats;
}
