import { workerData } from 'node:worker_threads';
import { ManualClock } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';

// Moves the clock of another thread once that thread may be waiting for it.
new Gate(workerData.mayMove).await(1);
ManualClock.attach(workerData.clock).advance(50);
