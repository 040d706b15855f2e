import { parentPort, workerData } from 'node:worker_threads';
import { runTaskThread } from '../src/load/task/task-thread.ts';

if (parentPort === null) throw new Error('task-worker must be started as a worker thread');
runTaskThread(parentPort, workerData);
