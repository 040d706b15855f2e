import { parentPort, workerData } from 'node:worker_threads';
import { runRoundThread } from '../src/load/closed/round-thread.ts';
import { runTaskThread } from '../src/load/task/task-thread.ts';

if (parentPort === null) throw new Error('task-worker must be started as a worker thread');
if ('gate' in workerData) runRoundThread(parentPort, workerData);
else runTaskThread(parentPort, workerData);
