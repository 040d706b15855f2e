import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { TokenBucket } from '../../src/index.ts';
import type { MainThreadData } from '../workers/main-thread.ts';
import type { Counts, Peer, Run } from './peer.ts';
import { measureThreads } from './worker-threads.ts';

const WORKER = new URL('../workers/main-thread.js', import.meta.url);

/** A message channel to a bucket that only the main thread can access. */
function answering(bucket: TokenBucket): { near: MessagePort; far: MessagePort } {
  const { port1: near, port2: far } = new MessageChannel();
  near.on('message', (tokens: number) => near.postMessage(bucket.tryConsume(tokens)));
  return { near, far };
}

async function measure(run: Run, inFlight: number): Promise<Counts> {
  const { rate, burst, initial } = run.load;
  const bucket = TokenBucket.create({ rate, burst, initial });
  const open: MessagePort[] = [];
  const share = (): MainThreadData => {
    const { near, far } = answering(bucket);
    open.push(near);
    return { port: far, inFlight };
  };
  const transfer = ({ port }: MainThreadData) => [port];
  const counts = await measureThreads({ worker: WORKER, share, transfer }, run);
  for (const port of open) port.close();
  return counts;
}

function asking(inFlight: number): Peer {
  return {
    name: `main thread by message${inFlight === 1 ? '' : `, ${inFlight} in flight`}`,
    mostThreads: Number.POSITIVE_INFINITY,
    prepare: async () => ({ state: 'ready', versions: [] }),
    measure: (run) => measure(run, inFlight),
  };
}

/** The usual way without shared memory: send a request to the main thread, await the reply. */
export const mainThread = asking(1);
/** The fastest variant of it: sends more requests before the reply arrives. */
export const mainThreadPipelined = asking(64);
