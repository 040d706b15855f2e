import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { systemClock } from '../../src/index.ts';

/** Long enough for a client at a few hundred requests a second to need several connections. */
const ANSWER_MS = 20;

/** In microseconds of the system clock, as all threads read it. */
const arrivals: number[] = [];
const server = createServer((request, response) => {
  if (request.method === 'GET') arrivals.push(systemClock.now());
  setTimeout(() => response.end('ok'), ANSWER_MS);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
parentPort?.on('message', () => {
  parentPort?.postMessage(Float64Array.from(arrivals.splice(0)));
});
parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
