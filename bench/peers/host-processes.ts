import { fork } from 'node:child_process';
import { messageOf } from '../child-message.ts';
import type { ConsumerReport } from '../consumer.ts';
import type { ProcessData } from '../workers/host-process.ts';
import type { Counts, Peer, Run } from './peer.ts';
import { sumOf } from './worker-threads.ts';

const WORKER = new URL('../workers/host-process.js', import.meta.url);

let runs = 0;

/** Processes that share one limit, in a region's file or on a server. */
export function hostProcesses(name: string, where: Pick<ProcessData, 'store' | 'path'>): Peer {
  const measure = async ({ load, threads, warmUpMs, measureMs }: Run): Promise<Counts> => {
    const data: ProcessData = { ...where, key: `run ${runs++}`, load, warmUpMs, measureMs };
    const start = () => fork(WORKER, [JSON.stringify(data)], { execArgv: [] });
    const processes = Array.from({ length: threads }, start);
    const said = <T>() => Promise.all(processes.map((child) => messageOf<T>(child, name)));
    await said();
    const reports = said<ConsumerReport>();
    for (const child of processes) child.send('go');
    return sumOf(await reports);
  };
  return {
    name,
    mostThreads: Number.POSITIVE_INFINITY,
    prepare: async () => ({ state: 'ready', versions: [] }),
    measure,
  };
}
