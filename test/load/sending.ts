import type { Http2Server } from 'node:http2';
import type { Server } from 'node:net';
import { onTestFinished } from 'vitest';
import { Tally } from '../../src/load/measure/tally.ts';
import type { RequestOptions, Transport } from '../../src/load/plan/options.ts';
import { ConnectionPool } from '../../src/load/send/connection.ts';
import { Http2Sessions } from '../../src/load/send/http2.ts';
import { QueuedWork, type WorkOptions } from '../../src/load/send/queued-work.ts';
import { started, type TestServer, tcpServer } from '../cli/support/servers.ts';
import { withResolvers } from '../support/settled.ts';

/** Longer than any test takes. */
const PATIENT_MS = 60_000;

/** Starts a server at a free port or at a path, and ends it with the test. */
export async function listen(server: Server | Http2Server, path?: string): Promise<number> {
  const { port, kill } = await started(server, path);
  onTestFinished(kill);
  return port;
}

/** Starts a server, and ends it with the test. Returns its address. */
export async function urlOf(starting: Promise<TestServer>): Promise<string> {
  const { url, kill } = await starting;
  onTestFinished(kill);
  return url;
}

/** A URL of HTTPS at which no handshake is ever answered. */
export async function silentUrl(): Promise<string> {
  return (await urlOf(tcpServer(() => undefined))).replace('http:', 'https:');
}

/** The requests of a test, unless it says otherwise. */
export const GET = { method: 'GET', headers: [], body: undefined };

export interface SendOptions extends Partial<RequestOptions & WorkOptions> {
  /** Connections to open before the first request, and for how long to try. */
  readonly openAhead?: number;
  readonly openMs?: number;
}

/** What sends requests: over one connection, unless the options say otherwise. */
export async function senderTo(
  url: string,
  transport: Transport,
  { openAhead = 0, openMs = PATIENT_MS, ...options }: SendOptions = {},
): Promise<QueuedWork> {
  const requests: RequestOptions = {
    url,
    method: options.body === undefined ? 'GET' : 'POST',
    headers: [
      ['X-A', '1'],
      ['x-a', '2'],
    ],
    body: undefined,
    connections: 1,
    transport,
    ...options,
  };
  const carriers =
    transport.http2 === true ? new Http2Sessions(requests) : new ConnectionPool(requests);
  if (openAhead > 0) await carriers.open(openAhead, openMs);
  const work = {
    timeoutMs: PATIENT_MS,
    tallyOf: () => new Tally(),
    now: () => performance.now() * 1_000,
    onIdle: () => undefined,
    isOver: () => false,
    ...options,
  };
  return new QueuedWork(work, carriers);
}

/** Sends `count` requests at once, and waits until all have ended. */
export async function send(
  url: string,
  transport: Transport,
  count = 1,
  options: SendOptions = {},
): Promise<Tally> {
  const tally = new Tally();
  const idle = withResolvers();
  const told = { tallyOf: () => tally, onIdle: idle.resolve };
  const sender = await senderTo(url, transport, { ...told, ...options });
  for (let i = 0; i < count; i += 1) sender.send(0, 0);
  await idle.promise;
  sender.close();
  return tally;
}

export function kindsOf({ errors }: Tally): string[] {
  return [...errors.keys()];
}
