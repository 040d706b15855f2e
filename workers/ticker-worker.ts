import { parentPort, workerData } from 'node:worker_threads';
import { runTicker } from '../src/time/ticker.ts';

if (parentPort === null) throw new Error('ticker-worker must be started as a worker thread');
runTicker(parentPort, workerData);
