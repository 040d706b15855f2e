import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/index.ts';
import type { Served } from '../true-latency.ts';

/** A command to the server. */
export type StallingCommand =
  /** Begins a run. With stalls, the first one comes this long after the first request. */
  | { readonly type: 'begin'; readonly stalls?: Stalls | undefined }
  /** Ends a run: the server answers with {@link Served}. */
  | { readonly type: 'take' };

/** Times in which the server does nothing at all. */
export interface Stalls {
  readonly firstMs: number;
  readonly everyMs: number;
  readonly lengthMs: number;
}

// A process that answers at once and records when each request arrived and was answered.
let arrivedUs: number[] = [];
let answeredUs: number[] = [];
let connections: number[] = [];
let stalls: Stalls | undefined;
let timer: NodeJS.Timeout | undefined;
const never = new Int32Array(new SharedArrayBuffer(4));

function scheduleStall(inMs: number, { everyMs, lengthMs }: Stalls): void {
  const atMs = performance.now() + inMs;
  timer = setTimeout(() => {
    Atomics.wait(never, 0, 0, lengthMs);
    // Counted from the begin of the last one, so that all runs have as many.
    scheduleStall(Math.max(0, atMs + everyMs - performance.now()), {
      firstMs: 0,
      everyMs,
      lengthMs,
    });
  }, inMs);
}

const server = createServer((request, response) => {
  arrivedUs.push(systemClock.now());
  connections.push(request.socket.remotePort ?? 0);
  if (stalls !== undefined && timer === undefined) scheduleStall(stalls.firstMs, stalls);
  response.end('zerotime\n');
  answeredUs.push(systemClock.now());
});

process.on('message', (command: StallingCommand) => {
  clearTimeout(timer);
  timer = undefined;
  if (command.type === 'take') {
    const served: Served = {
      arrivedUs: Float64Array.from(arrivedUs),
      answeredUs: Float64Array.from(answeredUs),
      connections: Float64Array.from(connections),
    };
    process.send?.(served);
  }
  [arrivedUs, answeredUs, connections] = [[], [], []];
  stalls = command.type === 'begin' ? command.stalls : undefined;
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
