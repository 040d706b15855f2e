import { workerData } from 'node:worker_threads';
import { TokenBucket } from '../../src/index.ts';

// Attaches, takes a token and exits.
if (!TokenBucket.attach(workerData).tryConsume()) throw new Error('there is no token left');
