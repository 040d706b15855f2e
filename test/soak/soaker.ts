import { parentPort } from 'node:worker_threads';
import type { SoakJob } from './job.ts';
import { soak } from './soak.ts';

// One thread of the soak, which ends by itself when its round is over.

parentPort?.on('message', async (job: SoakJob) => {
  parentPort?.postMessage(await soak(job));
  parentPort?.close();
});
parentPort?.postMessage('ready');
