import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { TokenBucket } from '../../src/index.ts';
import type { ConsumerData, ConsumerReport } from '../workers/consumer.ts';
import type { Counts, Peer, Run } from './peer.ts';

const CONSUMER = new URL('../workers/consumer.js', import.meta.url);

async function measure(run: Run, stats: boolean): Promise<Counts> {
  const { rate, burst, initial } = run.load;
  const bucket = TokenBucket.create({ rate, burst, initial, stats });
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const workerData: ConsumerData = {
    bucket: bucket.handle,
    gate,
    warmUpMs: run.warmUpMs,
    measureMs: run.measureMs,
  };
  const workers = Array.from({ length: run.threads }, () => new Worker(CONSUMER, { workerData }));
  // A worker says that it is warm, and then what it counted. An error of its own rejects.
  const said = () => Promise.all(workers.map((worker) => once(worker, 'message')));
  await said();
  const before = stats ? bucket.stats().lostRaces : 0;
  const reports = said();
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  const sum = { calls: 0, admitted: 0, elapsedNs: 0 };
  for (const [report] of (await reports) as [ConsumerReport][]) {
    sum.calls += report.calls;
    sum.admitted += report.admitted;
    sum.elapsedNs += report.elapsedNs;
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
  return stats ? { ...sum, lostRaces: bucket.stats().lostRaces - before } : sum;
}

/** `tryConsume` of this library, as a user calls it. */
export const zerotime: Peer = {
  name: 'zerotime',
  prepare: async () => undefined,
  supports: () => true,
  measure: (run) => measure(run, false),
  measureRaces: (run) => measure(run, true),
};
