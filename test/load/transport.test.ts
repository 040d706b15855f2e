import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CERT, KEY } from '../support/certificate.ts';
import { kindsOf, listen, send } from './sending.ts';

const answer: RequestListener = (_request, response) => void response.end('ok');

describe('a Unix domain socket', () => {
  it.each([0, 1])('takes the requests, with %i connections opened ahead', async (openAhead) => {
    const folder = mkdtempSync(join(tmpdir(), 'zerotime-unix-'));
    onTestFinished(async () => rmSync(folder, { recursive: true }));
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
