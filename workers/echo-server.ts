import { parentPort, workerData } from 'node:worker_threads';
import { runEchoServer } from '../src/load/send/echo-server.ts';

if (parentPort === null) throw new Error('echo-server must be started as a worker thread');
runEchoServer(parentPort, workerData);
