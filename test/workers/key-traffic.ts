import { parentPort, workerData } from 'node:worker_threads';
import { attach, ManualClock } from '../../src/index.ts';
import type { Traffic } from '../support/key-jobs.ts';

// Takes tokens of random keys as fast as possible, and counts the tokens of each key.

const { handle, given, go, calls } = workerData as Traffic;
const limiter = attach(handle);
const { clock } = limiter;
const keys = given.length;
/** Keys of 20 characters. */
const names = Array.from({ length: keys }, (_, i) => `user:${String(i).padStart(15, '0')}`);

parentPort?.postMessage('ready');
while (Atomics.load(go, 0) === 0) Atomics.wait(go, 0, 0);
for (let call = 0; call < calls; call++) {
  // By 1/rank (Zipf): the inverse of the distribution with density 1/x from 1 to keys + 1.
  const key = Math.min(Math.floor((keys + 1) ** Math.random()), keys) - 1;
  if (limiter.tryConsume(names[key] ?? '')) Atomics.add(given, key, 1);
  if (call % 64 === 0 && clock instanceof ManualClock) clock.advance(0.125);
}
parentPort?.postMessage('done');
