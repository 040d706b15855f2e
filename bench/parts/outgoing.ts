import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { checkGuarantee } from '../../src/load/judge/guarantee.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import type { OutgoingRun } from '../workers/outgoing-client.ts';

const RATE = 200;
/** Answers take 20 ms, so 200 requests a second keep 4 connections busy. */
const CONNECTIONS = 8;

type Case = Omit<OutgoingRun, 'url' | 'rate' | 'requests'> & { readonly name: string };

const PLAIN = { strict: false, catchUp: true, warm: 0 } as const;
const CASES: readonly Case[] = [
  { ...PLAIN, name: 'wait(), then fetch()', client: 'fetch' },
  { ...PLAIN, name: 'wait(), then fetch(), warm', client: 'fetch', warm: CONNECTIONS },
  { ...PLAIN, name: 'the same, strict', client: 'fetch', warm: CONNECTIONS, strict: true },
  { ...PLAIN, name: 'rateLimit()', client: 'undici' },
  { ...PLAIN, name: 'rateLimit(), warm', client: 'undici', warm: CONNECTIONS },
  { ...PLAIN, name: 'the same, strict', client: 'undici', warm: CONNECTIONS, strict: true },
  {
    name: 'the same, strict, catchUp: false',
    ...{ client: 'undici', warm: CONNECTIONS, strict: true, catchUp: false },
  },
  {
    name: 'the same, catchUp: false',
    ...{ client: 'undici', warm: CONNECTIONS, strict: false, catchUp: false },
  },
];

interface Instants {
  readonly starts: Float64Array;
  readonly arrivals: Float64Array;
}

async function instantsOf(server: Worker, run: OutgoingRun): Promise<Instants> {
  // A thread of its own for each case: none finds undici loaded or a connection open.
  const script = new URL('../workers/outgoing-client.js', import.meta.url);
  const client = new Worker(script, { workerData: run });
  const [starts] = (await once(client, 'message')) as [Float64Array];
  await client.terminate();
  server.postMessage('arrivals');
  const [arrivals] = (await once(server, 'message')) as [Float64Array];
  if (arrivals.length !== run.requests) throw new Error('requests were lost');
  return { starts: starts.sort(), arrivals: arrivals.sort() };
}

/** The most instants in any interval of this length. */
function mostWithin(instants: Float64Array, us: number): number {
  let most = 0;
  for (let first = 0, last = 0; last < instants.length; last++) {
    while ((instants[last] ?? 0) - (instants[first] ?? 0) > us) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

function figuresOf(instants: Float64Array): string[] {
  const gaps = instants.slice(1).map((at, i) => (at - (instants[i] ?? 0)) / 1000);
  gaps.sort();
  const gap = (share: number) => (gaps[Math.floor(share * (gaps.length - 1))] ?? 0).toFixed(2);
  const { tightest } = checkGuarantee(instants, RATE, 1);
  const beyond = tightest === null ? 0 : tightest.admitted - tightest.allowed;
  return [gap(0), gap(0.01), gap(0.5), `${mostWithin(instants, 10_000)}`, beyond.toFixed(2)];
}

function rowOf(name: string, { starts, arrivals }: Instants): string[] {
  const seconds = ((starts.at(-1) ?? 0) - (starts[0] ?? 0)) / 1e6;
  const rate = ((starts.length - 1) / seconds).toFixed(1);
  const firstMs = (((arrivals[0] ?? 0) - (starts[0] ?? 0)) / 1000).toFixed(1);
  return [name, rate, ...figuresOf(starts), ...figuresOf(arrivals), firstMs];
}

/** Outgoing requests at a steady rate: when they start, and arrive at a server in another thread. */
export async function benchOutgoing({ pacingMs }: Settings): Promise<Section> {
  const server = new Worker(new URL('../workers/arrival-server.js', import.meta.url));
  const [url] = (await once(server, 'message')) as [string];
  const requests = (RATE * pacingMs) / 1000;
  const rows: string[][] = [];
  for (const { name, ...each } of CASES) {
    rows.push(rowOf(name, await instantsOf(server, { url, rate: RATE, requests, ...each })));
  }
  await server.terminate();
  const figures = ['least', 'p1', 'p50', 'in 10 ms', 'beyond'];
  return {
    title: 'Outgoing requests',
    text: `${requests} requests at ${RATE} a second of a LeakyBucket, one every ${1000 / RATE} ms, to a server in
another thread that answers after 20 ms. For the starts in the client and the arrivals at the
server: the gaps in milliseconds at p1 and p50; the most in any 10 ms, 3 if they are even; and
the largest excess over 1 + rate x t in any t seconds. "first" is the time that the first request
took to reach the server. "warm": ${CONNECTIONS} connections were already open.`,
    head: [
      'client',
      'a second',
      ...figures.map((figure) => `starts: ${figure}`),
      ...figures.map((figure) => `arrivals: ${figure}`),
      'first: ms',
    ],
    rows,
  };
}
