import { parentPort, workerData } from 'node:worker_threads';
import { runClosedThread } from '../src/load/closed/closed-thread.ts';

if (parentPort === null) throw new Error('closed-worker must be started as a worker thread');
runClosedThread(parentPort, workerData);
