import { parentPort, workerData } from 'node:worker_threads';
import { runLoadThread } from '../src/load/send/rehearsal.ts';

if (parentPort === null) throw new Error('load-worker must be started as a worker thread');
runLoadThread(parentPort, workerData);
