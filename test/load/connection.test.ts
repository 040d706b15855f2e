import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Connection, requestTemplate } from '../../src/load/connection.ts';
import { HttpExchange, type Outcome } from '../../src/load/http-exchange.ts';
import { Sender } from '../../src/load/sender.ts';
import { Tally } from '../../src/load/tally.ts';
import { deadUrl, type TestServer, tcpServer } from '../cli/support/servers.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
/** Longer than any test takes. */
const PATIENT_MS = 60_000;

const connections: Connection[] = [];
const servers: TestServer[] = [];
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.reset();
  await Promise.all(servers.splice(0).map((server) => server.kill()));
});

function connectionTo(origin: string): Connection {
  const connection = new Connection(new URL(origin).origin);
  connections.push(connection);
  return connection;
}

function request(connection: Connection, url: string): Promise<Outcome> {
  const template = requestTemplate(new URL(url), { method: 'GET', headers: [], body: undefined });
  return new Promise((resolve) => {
    connection.dispatch(template, new HttpExchange(0, 0, (_exchange, outcome) => resolve(outcome)));
  });
}

/** `Promise.withResolvers`, which Node 20 lacks. */
function signal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}

/** Answers each request, and counts what it accepts. */
async function answering(onConnection: (socket: Socket, accepted: number) => void) {
  let accepted = 0;
  const server: Server = createServer((socket) => {
    accepted += 1;
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write(ANSWER));
    onConnection(socket, accepted);
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  servers.push({
    url: '',
    kill: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  });
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/`, accepted: () => accepted };
}

describe('a connection opened ahead', () => {
  it('is the one that the first request uses, and the next', async () => {
    let received = 0;
    const server = await answering((socket) => socket.on('data', () => received++));
    const connection = connectionTo(server.url);
    await connection.open(PATIENT_MS);
    expect(received).toBe(0);
    for (let i = 0; i < 2; i++) {
      expect(await request(connection, server.url)).toEqual({ ended: 'response', status: 200 });
    }
    expect([server.accepted(), received]).toEqual([1, 2]);
  });

  it('is replaced if the server has closed it', async () => {
    const closed = signal();
    const server = await answering((socket, accepted) => {
      if (accepted > 1) return;
      socket.on('close', () => closed.resolve());
      socket.destroy();
    });
    const connection = connectionTo(server.url);
    await connection.open(PATIENT_MS);
    await closed.promise;
    // The client may learn of it a little later, and then fails this one request.
    while ((await request(connection, server.url)).ended === 'error');
    expect(server.accepted()).toBeGreaterThan(1);
  });

  it('is left to the first request if it cannot be opened', async () => {
    const url = await deadUrl();
    const connection = connectionTo(url);
    await connection.open(PATIENT_MS);
    expect(await request(connection, url)).toMatchObject({ ended: 'error' });
  });

  it('is given up if that takes too long', async () => {
    const server = await tcpServer(() => undefined);
    servers.push(server);
    // A handshake that is never answered.
    await connectionTo(server.url.replace('http:', 'https:')).open(20);
  });

  it('names the server in its handshake as the requests do', async () => {
    let hello = '';
    const server = await tcpServer((socket, chunk) => {
      hello += chunk.toString('latin1');
      socket.destroy();
    });
    servers.push(server);
    const { origin } = new URL(server.url.replace('http:', 'https:'));
    await new Connection(origin, 'tenant.example').open(PATIENT_MS);
    expect(hello).toContain('tenant.example');
  });

  it('ends with a reset before it was used', async () => {
    const ended = signal();
    const server = await answering((socket) => socket.on('close', () => ended.resolve()));
    const connection = connectionTo(server.url);
    await connection.open(PATIENT_MS);
    connection.reset();
    await ended.promise;
  });
});

it('a sender opens the connections asked for ahead, and uses them first', async () => {
  const server = await answering(() => undefined);
  const idle = signal();
  const tally = new Tally();
  const sender = new Sender({
    origin: new URL(server.url).origin,
    request: requestTemplate(new URL(server.url), { method: 'GET', headers: [], body: undefined }),
    connections: 4,
    timeoutMs: PATIENT_MS,
    tallyOf: () => tally,
    now: () => 0,
    onIdle: idle.resolve,
  });
  await sender.open(1, PATIENT_MS);
  sender.send(0, 0);
  await idle.promise;
  sender.close();
  expect([server.accepted(), tally.counters.succeeded]).toEqual([1, 1]);
});
