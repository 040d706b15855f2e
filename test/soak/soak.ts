import { setImmediate } from 'node:timers/promises';
import { Random } from '../support/random.ts';
import { bucketWork } from './bucket-work.ts';
import { changedWork } from './changed-scene.ts';
import type { SoakJob, SoakReport } from './job.ts';
import { keyWork } from './key-work.ts';
import { Ledger } from './ledger.ts';
import { permitWork, waiterWork } from './permit-work.ts';
import { takerWork } from './taker-work.ts';
import type { Work } from './work.ts';

/** Calls between two turns of the event loop. */
const CHUNK = 500;

const WORK = {
  account: bucketWork,
  taker: takerWork,
  key: keyWork,
  crowd: keyWork,
  permit: permitWork,
  waiter: waiterWork,
  changed: changedWork,
} as const;

/** Calls a limiter and records each call until the round is over. */
export async function soak(job: SoakJob): Promise<SoakReport> {
  const random = new Random(job.seed);
  const work: Work = WORK[job.work](job, new Ledger(job.accounts, job.ledger), random);
  while (Atomics.load(job.stop, 0) === 0) {
    for (let call = 0; call < CHUNK && Atomics.load(job.stop, 0) === 0; call++) work.step();
    await setImmediate();
    work.abort?.();
  }
  await work.rest?.();
  return { admitted: work.admitted ?? [] };
}
