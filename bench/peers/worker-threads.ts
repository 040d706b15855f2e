import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ConsumerData, ConsumerReport } from '../consumer.ts';
import type { Counts, Run } from './peer.ts';

/** What to run in worker threads. */
interface Threads<Shared> {
  /** A module that calls `consumeBehindGate`. */
  readonly worker: URL;
  readonly shared: Shared;
  /** Called when all threads are warm and still. */
  readonly beforeStart?: () => void;
}

/** Runs one thread for each that `run` asks for, and adds up what they counted. */
export async function measureThreads<Shared>(
  { worker: url, shared, beforeStart }: Threads<Shared>,
  { threads, warmUpMs, measureMs }: Run,
): Promise<Counts> {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const workerData: ConsumerData<Shared> = { shared, gate, warmUpMs, measureMs };
  const workers = Array.from({ length: threads }, () => new Worker(url, { workerData }));
  // A thread says that it is warm, and then what it counted. An error of its own rejects.
  const said = () => Promise.all(workers.map((worker) => once(worker, 'message')));
  await said();
  beforeStart?.();
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
  return sum;
}
