import { parentPort, workerData } from 'node:worker_threads';
import { attach, ManualClock } from '../../src/index.ts';
import { handleFor } from '../support/kernels.ts';
import { RUSH, type Rush } from '../support/key-jobs.ts';

// In each round all threads meet at a gate, then take tokens of the same keys.

const rush = workerData as Rush;
const { handle, kernels, me, given, gate, threads, keys, returning, stepMs } = rush;
const { tiers = [undefined], bursts = [] } = rush;
/** Calls that each thread makes for a key: more than any of its bursts. */
const CALLS = 10;
const limiter = attach(handleFor(handle, kernels, me));
const { clock } = limiter;
/** Long enough to meet at full speed, short enough if threads outnumber processors. */
const SPINS = 2000;

function meet(round: number): void {
  if (Atomics.add(gate, RUSH.arrived, 1) + 1 === (round + 1) * threads) {
    if (clock instanceof ManualClock) clock.advance(stepMs);
    Atomics.store(gate, RUSH.open, round + 1);
    Atomics.notify(gate, RUSH.open);
  }
  for (let spin = 0; Atomics.load(gate, RUSH.open) <= round; spin++) {
    if (spin > SPINS) Atomics.wait(gate, RUSH.open, round);
  }
}

parentPort?.postMessage('ready');
for (let round = 0; round < given.length / keys; round++) {
  meet(round);
  const burst = bursts[round % bursts.length];
  if (me === 0 && burst !== undefined) limiter.reconfigure({ burst });
  for (let i = 0; i < keys; i++) {
    const count = round * keys + i;
    const key = returning ? count % (2 * keys) : count;
    const tier = tiers[i % tiers.length];
    const options = tier === undefined ? {} : { tier };
    for (let call = 0; call < CALLS; call++) {
      if (limiter.tryConsume(key, 1, options)) Atomics.add(given, count, 1);
    }
  }
}
parentPort?.postMessage('done');
