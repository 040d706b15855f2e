import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { errorKind } from '../../src/load/measure/errors.ts';
import { Tally } from '../../src/load/measure/tally.ts';
import type { Header } from '../../src/load/plan/options.ts';
import type { Outcome } from '../../src/load/send/carrier.ts';
import { Connection, http1Terms } from '../../src/load/send/connection.ts';
import { deadUrl, tcpServer } from '../cli/support/servers.ts';
import { CERT, KEY } from '../support/certificate.ts';
import { withResolvers } from '../support/settled.ts';
import { GET, kindsOf, listen, send, senderTo, silentUrl, urlOf } from './sending.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
/** Longer than any test takes. */
const PATIENT_MS = 60_000;

function connectionTo(
  url: string,
  options: Partial<Parameters<typeof http1Terms>[0]> = {},
): Connection {
  const connection = new Connection(http1Terms({ ...GET, url, ...options }));
  onTestFinished(() => connection.abandon());
  return connection;
}

function request(connection: Connection): Promise<Outcome> {
  return new Promise((resolve) => {
    connection.dispatch({ end: resolve });
  });
}

/** Answers each request, and counts what it accepts. */
async function answering(onConnection: (socket: Socket, accepted: number) => void) {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.on('data', () => socket.write(ANSWER));
    onConnection(socket, accepted);
  });
  const port = await listen(server);
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
      expect(await request(connection)).toBe(200);
    }
    expect([server.accepted(), received]).toEqual([1, 2]);
  });

  it('is replaced if the server has closed it', async () => {
    const closed = withResolvers();
    const server = await answering((socket, accepted) => {
      if (accepted > 1) return;
      socket.on('close', () => closed.resolve());
      socket.destroy();
    });
    const connection = connectionTo(server.url);
    await connection.open(PATIENT_MS);
    await closed.promise;
    // The client may learn of it a little later, and then fails this one request.
    while ((await request(connection)) !== 200);
    expect(server.accepted()).toBeGreaterThan(1);
  });

  it('is left to the first request if it cannot be opened', async () => {
    const url = await deadUrl();
    const connection = connectionTo(url);
    await connection.open(PATIENT_MS);
    expect(await request(connection)).toBeInstanceOf(Error);
  });

  it('is given up if that takes too long', async () => {
    await connectionTo(await silentUrl()).open(20);
  });

  it('names the server in its handshake as the requests do', async () => {
    let hello = '';
    const server = tcpServer((socket, chunk) => {
      hello += chunk.toString('latin1');
      socket.destroy();
    });
    const url = (await urlOf(server)).replace('http:', 'https:');
    await connectionTo(url, { headers: [['Host', 'tenant.example']] }).open(PATIENT_MS);
    expect(hello).toContain('tenant.example');
  });

  it('ends with a reset before it was used', async () => {
    const ended = withResolvers();
    const server = await answering((socket) => socket.on('close', () => ended.resolve()));
    const connection = connectionTo(server.url);
    await connection.open(PATIENT_MS);
    connection.abandon();
    await ended.promise;
  });
});

// docs/load.md: "Before the first request is due, the client compiles its code"
it('a sender opens the connections asked for ahead, and uses them first', async () => {
  const server = await answering(() => undefined);
  const idle = withResolvers();
  const tally = new Tally();
  const sender = await senderTo(
    server.url,
    {},
    {
      connections: 4,
      openAhead: 1,
      tallyOf: () => tally,
      onIdle: idle.resolve,
    },
  );
  sender.send(0, 0);
  await idle.promise;
  sender.close();
  expect([server.accepted(), tally.counters.succeeded]).toEqual([1, 1]);
});

it('a response that arrives after the timeout does not count, even if no timer has noticed', async () => {
  let nowUs = 0;
  const server = await answering((socket) => {
    socket.on('data', () => {
      nowUs = PATIENT_MS * 1_000;
    });
  });
  const tally = await send(server.url, {}, 1, { now: () => nowUs, timeoutMs: PATIENT_MS });
  expect(kindsOf(tally)).toEqual(['timed out']);
  expect(tally.counters).toEqual({ sent: 1, succeeded: 0, failed: 1 });
});

describe('interim responses', () => {
  it.each([
    [['100 Continue']],
    [['100 Continue', '103 Early Hints']],
    [['103 Early Hints', '100 Continue', '102 Processing', '100 Continue']],
  ])('are no responses: %s', async (interim) => {
    const heads = interim.map((status) => `HTTP/1.1 ${status}\r\nlink: </a>\r\n\r\n`);
    let requests = 0;
    const server = tcpServer((socket) => {
      requests += 1;
      // A body that looks like an interim response is a body.
      const body = 'HTTP/1.1 100 OK\r\n\r\n';
      const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`;
      if (requests % 2 === 0) socket.write(heads.join('') + answer + body);
      else {
        for (const head of heads) socket.write(head);
        setImmediate(() => socket.write(answer, () => socket.write(body)));
      }
    });
    const connection = connectionTo(await urlOf(server));
    for (let sent = 0; sent < 4; sent++) {
      expect(await request(connection)).toBe(200);
    }
    expect(requests).toBe(4);
  });
});

describe('a connection is used again', () => {
  /** The statuses of three requests, and how many connections took them. */
  async function connectionsFor(answer: (socket: Socket) => void, headers: Header[] = []) {
    const sockets = new Set<Socket>();
    const server = tcpServer((socket) => {
      sockets.add(socket);
      answer(socket);
    });
    const connection = connectionTo(await urlOf(server), { headers });
    const statuses: Outcome[] = [];
    for (let sent = 0; sent < 3; sent++) statuses.push(await request(connection));
    expect(statuses).toEqual([200, 200, 200]);
    return sockets.size;
  }
  const answer = (socket: Socket) => void socket.write(ANSWER);

  it('unless one of both sides says that it ends', async () => {
    expect(await connectionsFor(answer)).toBe(1);
    expect(await connectionsFor(answer, [['Connection', 'close']])).toBe(3);
    const last = ANSWER.replace('OK', 'OK\r\nconnection: close');
    expect(await connectionsFor((socket) => void socket.write(last))).toBe(3);
  });

  it('unless more has arrived than was asked for', async () => {
    expect(await connectionsFor((socket) => void socket.write(ANSWER + ANSWER))).toBe(3);
  });

  it('unless the server has closed it while the thread slept', async () => {
    const sockets: Socket[] = [];
    const server = await answering((socket) => sockets.push(socket));
    const connection = connectionTo(server.url);
    const now = vi.spyOn(performance, 'now');
    onTestFinished(() => now.mockRestore());
    for (let closed = 0; closed < 3; closed++) {
      now.mockReturnValue(closed * 1_000);
      expect(await request(connection)).toBe(200);
      now.mockReturnValue(closed * 1_000 + 500);
      // Requests come due between two turns, not while sockets are read.
      await new Promise((resolve) => setImmediate(resolve));
      // Closes its end at once, but the client only learns of it from the event loop.
      sockets[closed]?.destroy();
    }
    expect(server.accepted()).toBe(3);
  });

  it('and not for a request that was abandoned before it was sent', async () => {
    let received = 0;
    const server = await answering((socket) => socket.on('data', () => received++));
    const connection = connectionTo(server.url);
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => now.mockRestore());
    expect(await request(connection)).toBe(200);
    now.mockReturnValue(500);
    void request(connection);
    connection.abandon();
    expect(await request(connection)).toBe(200);
    expect([server.accepted(), received]).toEqual([2, 2]);
  });

  it('unless the body ends with it', async () => {
    const endless = ANSWER.replace('content-length: 0\r\n', '');
    expect(await connectionsFor((socket) => void socket.end(`${endless}the body`))).toBe(3);
  });

  it('unless the server may be closing it by now', async () => {
    const soon = ANSWER.replace('OK', 'OK\r\nkeep-alive: timeout=1');
    expect(await connectionsFor((socket) => void socket.write(soon))).toBe(3);
    const later = ANSWER.replace('OK', 'OK\r\nkeep-alive: timeout=60');
    expect(await connectionsFor((socket) => void socket.write(later))).toBe(1);
  });
});

it('a request has the length of its body, also without one where methods have one', async () => {
  let received = '';
  const server = tcpServer((socket, chunk) => {
    received += chunk.toString('latin1');
    if (received.endsWith('\r\n\r\n') || received.endsWith('body')) socket.write(ANSWER);
  });
  const { href: url } = new URL('/a?b', await urlOf(server));
  const sentBy = async (method: string, body?: Uint8Array, headers: Header[] = []) => {
    received = '';
    const all: Header[] = [['Host', 'other'], ...headers];
    expect(await request(connectionTo(url, { method, headers: all, body }))).toBe(200);
    return received;
  };
  const head = (method: string) =>
    `${method} /a?b HTTP/1.1\r\nhost: other\r\nconnection: keep-alive\r\nuser-agent: zerotime-load\r\n`;
  expect(await sentBy('GET')).toBe(`${head('GET')}\r\n`);
  expect(await sentBy('DELETE')).toBe(`${head('DELETE')}\r\n`);
  expect(await sentBy('POST')).toBe(`${head('POST')}content-length: 0\r\n\r\n`);
  const body = Buffer.from('a body');
  expect(await sentBy('POST', body)).toBe(`${head('POST')}content-length: 6\r\n\r\na body`);
  const own: Header[] = [['X-A', '\xe4']];
  expect(await sentBy('GET', undefined, own)).toBe(`${head('GET')}X-A: \xe4\r\n\r\n`);
});

it.each(['', 'a b', 'host:99999', '1.2.3.4.5'])(
  'a Host header may name no host: %j',
  async (host) => {
    let received = '';
    const server = tcpServer((socket, chunk) => {
      received += chunk.toString('latin1');
      socket.write(ANSWER);
    });
    const connection = connectionTo(await urlOf(server), { headers: [['Host', host]] });
    expect(await request(connection)).toBe(200);
    expect(received).toContain(`\r\nhost: ${host}\r\n`);
  },
);

it('a server that sends another protocol and waits fails the request at once', async () => {
  const server = tcpServer((socket) => void socket.write('220 mail.example ESMTP\r\n'));
  const outcome = await request(connectionTo(new URL(await urlOf(server)).origin));
  expect(errorKind(outcome)).toBe('bad response');
});

describe('a certificate for another name', () => {
  it.each([false, true])('fails each request at once: HTTP/2 %s', async (http2) => {
    const secure = { cert: CERT, key: KEY, ALPNProtocols: ['h2', 'http/1.1'] };
    const server = createTlsServer(secure, (socket) => socket.on('error', () => undefined));
    const port = await listen(server);
    const transport = { tls: { ca: CERT }, http2 };
    const connections = { connections: 3 };
    const tally = await send(`https://localhost:${port}/`, transport, 10, connections);
    expect([...tally.errors.values()]).toMatchObject([{ kind: 'TLS error', count: 10 }]);
    expect(tally.errors.get('TLS error')?.example).toContain('does not match');
  });
});
