import { setImmediate } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { Random } from '../support/random.ts';
import { bucketWork } from './bucket-work.ts';
import { changedWork } from './changed-scene.ts';
import type { HostJob, SoakJob, SoakReport, Work } from './job.ts';
import { keyWork } from './key-scenes.ts';
import { IN_REGION, Ledger, tallyAt } from './ledger.ts';
import { permitWork, waiterWork } from './permit-scene.ts';
import { takerWork } from './taker-work.ts';

// One thread or process of the soak: a thread ends by itself when its round is over.

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
async function soak(job: SoakJob): Promise<SoakReport> {
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

if (parentPort === null) {
  // Its regions are in files.
  const { HostRegion } = await import('../../src/host.ts');
  process.on('message', async ({ tallyPath, ...job }: HostJob) => {
    const { buffer } = HostRegion.find(tallyPath);
    const { stop, changes, ledger } = tallyAt(buffer, IN_REGION, job.accounts);
    const shared = new SharedArrayBuffer(0);
    process.send?.(await soak({ ...job, stop, changes, ledger: ledger.cells, shared }));
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
} else {
  parentPort.on('message', async (job: SoakJob) => {
    parentPort?.postMessage(await soak(job));
    parentPort?.close();
  });
  parentPort.postMessage('ready');
}
