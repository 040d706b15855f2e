import { parentPort } from 'node:worker_threads';
import type { SoakJob } from './job.ts';
import { soak } from './soak.ts';

// One thread of the soak.

parentPort?.on('message', async (job: SoakJob) => parentPort?.postMessage(await soak(job)));
parentPort?.postMessage('ready');
