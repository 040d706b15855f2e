import { once } from 'node:events';
import type { Http2Server } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { Tally } from '../../src/load/measure/tally.ts';
import type { Transport } from '../../src/load/plan/options.ts';
import { Sender, type SenderOptions } from '../../src/load/send/sender.ts';

/** Longer than any test takes. */
const PATIENT_MS = 60_000;

/** Starts a server at a free port or at a path, and ends it with the test. */
export async function listen(server: Server | Http2Server, path?: string): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  if (path === undefined) server.listen(0, '127.0.0.1');
  else server.listen(path);
  await once(server, 'listening');
  return path === undefined ? (server.address() as AddressInfo).port : 0;
}

/** The requests of a test, unless it says otherwise. */
export const GET = { method: 'GET', headers: [], body: undefined };

/** A sender over one connection, unless the options say otherwise. */
export function senderTo(
  url: string,
  transport: Transport,
  options: Partial<SenderOptions> = {},
): Sender {
  return new Sender({
    url,
    method: options.body === undefined ? 'GET' : 'POST',
    headers: [
      ['X-A', '1'],
      ['x-a', '2'],
    ],
    body: undefined,
    connections: 1,
    timeoutMs: PATIENT_MS,
    transport,
    tallyOf: () => new Tally(),
    now: () => performance.now() * 1_000,
    onIdle: () => undefined,
    ...options,
  });
}

/** Sends `count` requests at once, and waits until all have ended. */
export async function send(
  url: string,
  transport: Transport,
  count = 1,
  { openAhead = 0, ...options }: Partial<SenderOptions> & { readonly openAhead?: number } = {},
): Promise<Tally> {
  const tally = new Tally();
  let onIdle: () => void = () => undefined;
  const idle = new Promise<void>((resolve) => {
    onIdle = resolve;
  });
  const sender = senderTo(url, transport, { tallyOf: () => tally, onIdle, ...options });
  if (openAhead > 0) await sender.open(openAhead, PATIENT_MS);
  for (let i = 0; i < count; i += 1) sender.send(0, 0);
  await idle;
  sender.close();
  return tally;
}

export function kindsOf({ errors }: Tally): string[] {
  return [...errors.keys()];
}
