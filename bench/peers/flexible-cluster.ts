import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import type { KeyTask } from '../key-traffic.ts';
import type { ClusterData, ClusterMessage } from '../workers/flexible-cluster.ts';
import { prepareNpm } from './npm.ts';
import type { Counts, Peer, Run } from './peer.ts';
import { sumOf } from './worker-threads.ts';

const WORKER = fileURLToPath(new URL('../workers/flexible-cluster.js', import.meta.url));

let runs = 0;

/** The next message of the bench, skipping the limiter's own. Rejects if the process ends. */
function said(worker: Worker): Promise<ClusterMessage> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: { readonly bench?: ClusterMessage }) => {
      if (message.bench === undefined) return;
      worker.off('message', onMessage);
      worker.off('exit', onExit);
      resolve(message.bench);
    };
    const onExit = (code: number) => reject(new Error(`a process of the cluster ended: ${code}`));
    worker.on('message', onMessage);
    worker.on('exit', onExit);
  });
}

/** `task`: the keys to ask for, if there are many. */
export async function measureCluster(
  { load, threads, warmUpMs, measureMs }: Run,
  task?: Omit<KeyTask, 'thread'>,
): Promise<Counts> {
  new RateLimiterClusterMaster();
  runs++;
  const workers = Array.from({ length: threads }, (_, index) => {
    const data: ClusterData = {
      name: `run-${runs}`,
      load,
      isFirst: index === 0,
      task: task && { ...task, thread: index },
      warmUpMs,
      measureMs,
    };
    cluster.setupPrimary({ exec: WORKER, args: [JSON.stringify(data)] });
    return cluster.fork();
  });
  await Promise.all(workers.map(said));
  const reports = Promise.all(workers.map(said));
  for (const worker of workers) worker.send('go');
  const counted = await reports;
  for (const worker of workers) worker.disconnect();
  return sumOf(counted.filter((message) => message !== 'warm'));
}

/** Processes that send messages to a limiter in the cluster's primary. */
export const flexibleCluster: Peer = {
  name: 'rate-limiter-flexible, cluster',
  mostThreads: Number.POSITIVE_INFINITY,
  prepare: () => prepareNpm('rate-limiter-flexible'),
  measure: (run) => measureCluster(run),
};
