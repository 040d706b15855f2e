import { once } from 'node:events';
import { type Transferable, Worker } from 'node:worker_threads';
import type { ConsumerData, ConsumerReport } from '../consumer.ts';
import type { Counts, Run } from './peer.ts';

/** The worker threads of a peer. */
interface Threads<Shared> {
  /** A module that calls `consumeBehindGate`. */
  readonly worker: URL;
  /** Called once per thread. */
  readonly share: () => Shared;
  readonly transfer?: (shared: Shared) => Transferable[];
  /** Called when all threads are warm and blocked. */
  readonly beforeStart?: () => void;
}

/** Sums the counts of all threads of a run. */
export function sumOf(reports: readonly ConsumerReport[]): Counts {
  const sum = { calls: 0, admitted: 0, elapsedNs: 0 };
  for (const report of reports) {
    sum.calls += report.calls;
    sum.admitted += report.admitted;
    sum.elapsedNs += report.elapsedNs;
  }
  return sum;
}

/** Runs the requested number of threads and sums their counts. */
export async function measureThreads<Shared>(
  { worker: url, share, transfer, beforeStart }: Threads<Shared>,
  { threads, warmUpMs, measureMs }: Omit<Run, 'load'>,
): Promise<Counts> {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const workers = Array.from({ length: threads }, () => {
    const shared = share();
    const workerData: ConsumerData<Shared> = { shared, gate, warmUpMs, measureMs };
    return new Worker(url, { workerData, transferList: transfer?.(shared) ?? [] });
  });
  // A thread posts that it is warm, then its counts. An error in a thread rejects.
  const said = () => Promise.all(workers.map((worker) => once(worker, 'message')));
  await said();
  beforeStart?.();
  const reports = said();
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  const sum = sumOf(((await reports) as [ConsumerReport][]).map(([report]) => report));
  await Promise.all(workers.map((worker) => worker.terminate()));
  return sum;
}
