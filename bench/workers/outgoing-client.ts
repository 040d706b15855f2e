import { parentPort, workerData } from 'node:worker_threads';
import { Agent, type Dispatcher, request } from 'undici';
import { LeakyBucket, systemClock } from '../../src/index.ts';
import { rateLimit } from '../../src/integrations/undici.ts';

/** How a client sends its requests. */
export interface OutgoingRun {
  readonly url: string;
  readonly rate: number;
  readonly requests: number;
  readonly client: 'fetch' | 'undici';
  readonly strict: boolean;
  readonly catchUp: boolean;
  /** Connections to open beforehand. */
  readonly warm: number;
}

/** Enough that some always wait for their turn. */
const SIDE_BY_SIDE = 16;
const { url, rate, requests, client, warm, ...options } = workerData as OutgoingRun;
const agent = new Agent();
/** When requests started, in microseconds. */
const starts: number[] = [];

/** Requests side by side, each of which opens a connection that is kept alive. */
async function openConnections(): Promise<void> {
  const open = async () => {
    if (client === 'fetch') return (await fetch(url, { method: 'HEAD' })).text();
    return (await request(url, { method: 'HEAD', dispatcher: agent })).body.text();
  };
  await Promise.all(Array.from({ length: warm }, open));
}

/** What people write: wait, then call, and do not wait for the answer. */
async function waitAndFetch(limiter: LeakyBucket): Promise<void> {
  const texts: Promise<string>[] = [];
  for (let i = 0; i < requests; i++) {
    await limiter.wait(1, { strict: options.strict });
    starts.push(systemClock.now());
    texts.push(fetch(url).then((response) => response.text()));
  }
  await Promise.all(texts);
}

async function requestThrough(limiter: LeakyBucket): Promise<void> {
  const record: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (request, handler) => {
    starts.push(systemClock.now());
    return dispatch(request, handler);
  };
  const dispatcher = agent.compose(record, rateLimit({ limiter, ...options }));
  let left = requests;
  const send = async () => {
    while (left-- > 0) await (await request(url, { dispatcher })).body.text();
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, send));
}

await openConnections();
const limiter = LeakyBucket.create({ rate });
await (client === 'fetch' ? waitAndFetch(limiter) : requestThrough(limiter));
await agent.close();
parentPort?.postMessage(Float64Array.from(starts));
