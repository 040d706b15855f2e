import { createServer, type RequestListener } from 'node:http';
import {
  createServer as createHttp2Server,
  createSecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Tally } from '../../src/load/measure/tally.ts';
import type { Outcome } from '../../src/load/send/carrier.ts';
import { Http2Session, http2Terms } from '../../src/load/send/http2.ts';
import { deadUrl, httpServer, tcpServer } from '../cli/support/servers.ts';
import { CERT, KEY } from '../support/certificate.ts';
import { folderOfTest } from '../support/folders.ts';
import { withResolvers } from '../support/settled.ts';
import { GET, kindsOf, listen, send, senderTo, silentUrl, urlOf } from './sending.ts';

const answer: RequestListener = (_request, response) => void response.end('ok');

describe('a Unix domain socket', () => {
  it.each([0, 1])('takes the requests, with %i connections opened ahead', async (openAhead) => {
    const folder = folderOfTest();
    const socketPath = join(folder, 'socket');
    const hosts: unknown[] = [];
    const server = createServer((request, response) => {
      hosts.push(request.headers.host);
      response.end();
    });
    await listen(server, socketPath);
    const tally = await send('http://api.example/a', { socketPath }, 2, { openAhead });
    expect(tally.counters).toMatchObject({ sent: 2, succeeded: 2 });
    expect(hosts).toEqual(['api.example', 'api.example']);
  });
});

describe('TLS', () => {
  async function secure(options: object = {}) {
    const server = createHttpsServer({ cert: CERT, key: KEY, ...options }, answer);
    const names: unknown[] = [];
    server.on('secureConnection', (socket: TLSSocket) => names.push(socket.servername));
    const port = await listen(server);
    return { url: `https://127.0.0.1:${port}/`, names };
  }

  it('refuses a certificate of an unknown authority', async () => {
    const { url } = await secure();
    expect(kindsOf(await send(url, {}))).toEqual(['TLS error']);
  });

  it.each([
    ['any certificate is accepted', { insecure: true }],
    ['its authority is given', { ca: CERT }],
  ])('accepts it if %s', async (_how, tls) => {
    const { url } = await secure();
    for (const openAhead of [0, 1]) {
      const tally = await send(url, { tls }, 2, { openAhead });
      expect(tally.counters).toMatchObject({ sent: 2, succeeded: 2 });
    }
  });

  it('names the server as asked, and checks its certificate against that name', async () => {
    const { url, names } = await secure();
    for (const openAhead of [0, 1]) {
      const named = { tls: { ca: CERT, servername: 'zerotime.test' } };
      expect((await send(url, named, 1, { openAhead })).counters.succeeded).toBe(1);
    }
    expect(names).toEqual(['zerotime.test', 'zerotime.test']);
    const other = { tls: { ca: CERT, servername: 'other.test' } };
    expect(kindsOf(await send(url, other))).toEqual(['TLS error']);
  });

  it("shows this client's certificate", async () => {
    const { url } = await secure({ requestCert: true, ca: CERT });
    const own = { ca: CERT, cert: CERT, key: KEY };
    expect((await send(url, { tls: own })).counters.succeeded).toBe(1);
    expect((await send(url, { tls: { ca: CERT } })).counters.succeeded).toBe(0);
  });
});

describe('HTTP/2', () => {
  interface Seen {
    readonly url: string;
    readonly sessions: ServerHttp2Session[];
    most: number;
    readonly paths: unknown[];
  }

  /** A server that notes how many streams are open at once. */
  async function serve(
    onStream: (stream: ServerHttp2Stream) => void,
    streams = 100,
    isSecure = false,
  ): Promise<Seen> {
    const settings = { maxConcurrentStreams: streams };
    const server = isSecure
      ? createSecureServer({ settings, cert: CERT, key: KEY })
      : createHttp2Server({ settings });
    let open = 0;
    const sessions: ServerHttp2Session[] = [];
    const paths: unknown[] = [];
    server.on('session', (session) => {
      sessions.push(session);
      session.on('error', () => undefined);
    });
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      open += 1;
      seen.most = Math.max(seen.most, open);
      paths.push([headers[':authority'], headers[':path'], headers['x-a']].join(' '));
      stream.on('close', () => {
        open -= 1;
      });
      stream.on('error', () => undefined);
      onStream(stream);
    });
    const port = await listen(server);
    const scheme = isSecure ? 'https' : 'http';
    const seen: Seen = { url: `${scheme}://127.0.0.1:${port}/`, sessions, most: 0, paths };
    return seen;
  }

  const http2 = { http2: true };
  const respond = (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200 });
    stream.end('ok');
  };

  it('carries many requests in one session, as many at once as the server allows', async () => {
    const seen = await serve((stream) => void setImmediate(respond, stream), 3);
    const tally = await send(`${seen.url}a?b`, http2, 20, { openAhead: 1 });
    expect(tally.counters).toMatchObject({ sent: 20, succeeded: 20 });
    expect(tally.histograms.latency.totalCount).toBe(20);
    expect([seen.sessions.length, seen.most]).toEqual([1, 3]);
    const { host } = new URL(seen.url);
    expect(new Set(seen.paths)).toEqual(new Set([`${host} /a?b 1, 2`]));
  });

  it('spreads them over several sessions', async () => {
    const seen = await serve((stream) => void setImmediate(respond, stream), 2);
    const tally = await send(seen.url, http2, 8, { connections: 4, openAhead: 4 });
    expect(tally.counters.succeeded).toBe(8);
    expect(seen.sessions).toHaveLength(4);
  });

  it('sends a body', async () => {
    const got: string[] = [];
    const seen = await serve((stream) => {
      stream.setEncoding('utf8').on('data', (text: string) => got.push(text));
      stream.on('end', () => respond(stream));
    });
    const body = Buffer.from('what is sent');
    const tally = await send(seen.url, http2, 1, { body });
    expect([tally.counters.succeeded, got.join('')]).toEqual([1, 'what is sent']);
  });

  it('is agreed on in a TLS handshake that names the server', async () => {
    const seen = await serve(respond, 100, true);
    const tls = { ca: CERT, servername: 'zerotime.test' };
    const tally = await send(seen.url, { ...http2, tls }, 2);
    expect(tally.counters.succeeded).toBe(2);
    const socket = seen.sessions[0]?.socket as TLSSocket | undefined;
    expect(socket?.servername).toBe('zerotime.test');
    expect(kindsOf(await send(seen.url, http2))).toEqual(['TLS error']);
  });

  it.each([
    ['reset', (stream: ServerHttp2Stream) => stream.close(2), 'connection reset'],
    ['canceled', (stream: ServerHttp2Stream) => stream.close(8), 'connection closed'],
    [
      'ended with the session',
      (stream: ServerHttp2Stream) => stream.session?.destroy(),
      'connection closed',
    ],
  ])('counts a stream that is %s', async (_how, end, kind) => {
    const seen = await serve(end);
    expect(kindsOf(await send(seen.url, http2))).toEqual([kind]);
  });

  it('continues in a new session after the server has ended one', async () => {
    const seen = await serve((stream) => {
      respond(stream);
      stream.session?.close();
    });
    const idle: (() => void)[] = [];
    const tally = new Tally();
    const onIdle = () => idle.shift()?.();
    const sender = await senderTo(seen.url, http2, { tallyOf: () => tally, onIdle });
    // What the server has not said yet may still fail one request, and then the next one succeeds.
    while (tally.counters.succeeded < 3) {
      const ended = new Promise<void>((resolve) => idle.push(resolve));
      sender.send(0, 0);
      await ended;
    }
    sender.close();
    expect(seen.sessions.length).toBeGreaterThan(1);
  });

  it('times out streams, and then a session that cannot be opened', async () => {
    const seen = await serve(() => undefined);
    expect(kindsOf(await send(seen.url, http2, 2, { timeoutMs: 50 }))).toEqual(['timed out']);
    const url = await silentUrl();
    expect(kindsOf(await send(url, http2, 2, { timeoutMs: 50 }))).toEqual(['timed out']);
  });

  it('keeps a new session when requests of the one before it time out', async () => {
    const server = createSecureServer({ cert: CERT, key: KEY });
    server.on('stream', respond);
    server.on('session', (session) => void session.on('error', () => undefined));
    // It begins no handshake before it is released.
    const { promise: released, resolve: release } = withResolvers();
    const stalled = createTcpServer({ pauseOnConnect: true }, (socket) => {
      void released.then(() => server.emit('connection', socket));
    });
    const url = `https://127.0.0.1:${await listen(stalled)}/`;
    const terms = http2Terms({ ...GET, url, transport: { tls: { insecure: true } } });
    const session = new Http2Session(terms);
    onTestFinished(async () => session.close());
    const dispatch = () => {
      const { promise: ended, resolve: end } = withResolvers<Outcome>();
      const abandon = session.dispatch({ end });
      return { abandon: () => abandon?.(new DOMException()), ended };
    };
    const [one, two] = [dispatch(), dispatch()];
    one.abandon();
    const three = dispatch();
    two.abandon();
    release();
    expect(await three.ended).toBe(200);
  });

  it('says what is wrong with the server', async () => {
    const old = await urlOf(httpServer(answer));
    expect(kindsOf(await send(old, http2))).toEqual(['bad response']);
    expect(kindsOf(await send(await deadUrl(), http2))).toEqual(['connection refused']);
  });

  it('leaves a session that cannot be opened ahead to its first request', async () => {
    const sent = await send(await deadUrl(), http2, 1, { openAhead: 1 });
    expect(kindsOf(sent)).toEqual(['connection refused']);
    const silent = await urlOf(tcpServer(() => undefined));
    const sender = await senderTo(silent, http2, { openAhead: 1, openMs: 20 });
    await sender.close();
  });
});
