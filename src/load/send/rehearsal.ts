import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import type { LoadCommand, LoadThreadData } from '../threads/messages.ts';
import { ThreadService } from '../threads/thread-service.ts';
import type { Carriers } from './carrier.ts';
import { ConnectionPool } from './connection.ts';
import { Http2Sessions } from './http2.ts';

/** Several rounds: code that has only seen one object of a kind is optimized for that object. */
const ROUNDS = 3;
/** Few enough that requests also wait for a connection, as in a run. */
const CONNECTIONS = 8;
/** Faster than cold code can send: the first requests are late, the last ones on time. */
const RATE = 5_000;
const AHEAD = 64;

/**
 * Plays short runs against the embedded server until all code is loaded and compiled. Otherwise the
 * first requests to the target would be late, and count as the target's latency.
 */
async function rehearse(data: LoadThreadData): Promise<void> {
  const { requests, url } = data.rehearsal;
  if (requests === 0) return;
  const rehearsed: LoadThreadData = {
    ...data,
    url,
    method: 'GET',
    headers: [],
    body: undefined,
    transport: { http2: data.transport?.http2 },
    connections: CONNECTIONS,
    openAhead: Math.min(CONNECTIONS, data.openAhead),
    timeoutMs: 1_000,
    outstanding: AHEAD,
    fleet: undefined,
  };
  for (let round = 0; round < ROUNDS; round++) await playRun(rehearsed, requests / ROUNDS);
}

async function playRun(data: LoadThreadData, requests: number): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  const { done } = new ThreadService(port1, {
    data,
    // Send all requests even if the server is slow for lack of processor time.
    neverPauses: true,
    open: () => openCarriers(data),
  });
  await once(port2, 'message'); // ready
  const { handle, clock } = TokenBucket.create({ rate: RATE, burst: 1 });
  const startUs = clock.now();
  const endUs = startUs + (requests / RATE) * 1e6;
  port2.postMessage({ type: 'go', bucket: handle, startUs, endUs } satisfies LoadCommand);
  await done;
}

/** Runs a thread that sends requests. */
export function runLoadThread(port: MessagePort, data: LoadThreadData): void {
  new ThreadService(port, {
    data,
    open: async () => {
      await rehearse(data);
      return openCarriers(data);
    },
  });
}

/** A connection that takes longer to open is opened by its first request. */
const OPEN_MS = 2_000;

async function openCarriers(data: LoadThreadData): Promise<Carriers> {
  const carriers = data.transport?.http2 ? new Http2Sessions(data) : new ConnectionPool(data);
  await carriers.open(data.openAhead, Math.min(data.timeoutMs, OPEN_MS));
  return carriers;
}
