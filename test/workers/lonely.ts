import { Worker } from 'node:worker_threads';
import { ManualClock, systemClock, TokenBucket } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';

// A process whose only work is to wait for tokens; it reports how long it waited.
const strict = process.argv[2] === 'strict';
const clock = process.argv[2] === 'manual' ? ManualClock.create() : systemClock;
const before = clock.now();
const bucket = TokenBucket.create({ rate: 20, burst: 1, initial: 0, clock });
const mayMove = new Gate();
if (clock instanceof ManualClock) {
  const workerData = { clock: clock.handle, mayMove: mayMove.buffer };
  // This thread must not keep the process alive.
  new Worker(new URL('./mover.js', import.meta.url), { workerData }).unref();
}
const waiting = bucket.wait(1, { strict });
mayMove.arrive();
await waiting;
console.log(clock.now() - before >= 50_000 ? 'in time' : 'early');
