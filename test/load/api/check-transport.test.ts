import { createServer } from 'node:http';
import { createSecureServer } from 'node:http2';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkDriveOptions } from '../../../src/load/api/check-options.ts';
import type { DriveOptions, HttpTarget } from '../../../src/load/plan/drive-options.ts';
import { drive } from '../../../src/load.ts';
import { CERT, KEY } from '../../support/certificate.ts';
import { folderOfTest } from '../../support/folders.ts';
import { NO_GATES, runUntil } from '../../support/load-options.ts';
import { listen } from '../sending.ts';

const url = 'https://localhost/';

/** How a target is reached. */
function requests(target: Partial<HttpTarget>, threads = 3) {
  const plan = checkDriveOptions({ target: { url, ...target }, rate: 1, threads });
  const { transport, connections } = plan;
  return { transport, connections };
}

describe('the transport of a target', () => {
  it('is HTTP/1.1 over TCP unless given', () => {
    expect(requests({})).toEqual({ transport: undefined, connections: 64 });
    expect(requests({ http2: false })).toMatchObject({ connections: 64 });
  });

  it('may be HTTP/2, with a session per thread', () => {
    expect(requests({ http2: true })).toEqual({
      transport: { http2: true, socketPath: undefined, tls: undefined },
      connections: 3,
    });
    expect(requests({ http2: true, connections: 5 })).toMatchObject({ connections: 5 });
  });

  it('has certificates as text or bytes', () => {
    const cert = new TextEncoder().encode(CERT);
    const tls = { cert, key: KEY, ca: CERT, servername: 'a.example' };
    expect(requests({ tls, socketPath: '/tmp/socket' }).transport).toEqual({
      http2: undefined,
      socketPath: '/tmp/socket',
      tls: { cert: CERT, key: KEY, ca: CERT, servername: 'a.example', insecure: undefined },
    });
    expect(requests({ tls: { insecure: true } }).transport?.tls).toMatchObject({ insecure: true });
  });

  it.each<[unknown, string]>([
    [{ http2: 1 }, 'target.http2 must be a boolean, got 1'],
    [{ unix: '/a' }, 'target has no option "unix"'],
    [{ socketPath: '' }, 'target.socketPath must be the path of a socket, got ""'],
    [{ socketPath: 3 }, 'target.socketPath must be the path of a socket, got 3'],
    [{ tls: true }, 'target.tls must be an object, got true'],
    [{ tls: { rejectUnauthorized: false } }, 'target.tls has no option "rejectUnauthorized"'],
    [{ url: 'http://localhost/', tls: { insecure: true } }, 'target.tls needs an https URL'],
    [{ tls: { insecure: 'yes' } }, 'target.tls.insecure must be a boolean, got "yes"'],
    [{ tls: { cert: CERT } }, 'target.tls.cert needs target.tls.key'],
    [{ tls: { key: KEY } }, 'target.tls.key needs target.tls.cert'],
    [{ tls: { cert: 'secret', key: KEY } }, 'target.tls.cert must be text in PEM, which begins'],
    [{ tls: { cert: CERT, key: 3 } }, 'target.tls.key must be text in PEM'],
    [
      { tls: { insecure: true, ca: CERT } },
      'target.tls.ca cannot be used with target.tls.insecure',
    ],
    [{ tls: { ca: '-----BEGIN secret' } }, 'target.tls.ca cannot be used: '],
    [{ tls: { cert: KEY, key: CERT } }, 'target.tls.cert and target.tls.key cannot be used: '],
    [{ tls: { servername: 'a b' } }, 'target.tls.servername must be the name of a host, got "a b"'],
    [{ tls: { servername: 3 } }, 'target.tls.servername must be the name of a host, got 3'],
  ])('%o: %s', (target, message) => {
    const wrong = target as Partial<HttpTarget>; // on purpose
    const given = { target: { url, ...wrong }, rate: 1 };
    const check = () => checkDriveOptions(given);
    expect(check).toThrow(message);
    expect(check).not.toThrow(/secret/);
  });
});

const sent = (options: DriveOptions) =>
  runUntil(
    ({ calls }) => calls.sent > 0,
    () => drive({ rate: 50, durationMs: 100, gates: NO_GATES, ...options }),
  );

describe('drive', () => {
  it('speaks HTTP/2 over TLS with a server whose authority it trusts', async () => {
    const server = createSecureServer({ cert: CERT, key: KEY });
    const seen = new Set<string>();
    server.on('request', (request, response) => {
      seen.add(request.httpVersion);
      response.end();
    });
    const target = { url: `https://127.0.0.1:${await listen(server)}/`, http2: true };
    const tls = { ca: CERT, servername: 'zerotime.test' };
    const [trusted, doubted] = await Promise.all([
      sent({ target: { ...target, tls } }),
      sent({ target }),
    ]);
    expect(trusted.errors).toEqual([]);
    expect(trusted.statusCodes).toEqual({ 200: trusted.calls.sent });
    expect([...seen]).toEqual(['2.0']);
    expect(doubted.errors.map(({ kind }) => kind)).toEqual(['TLS error']);
  });

  it('reaches a server at a Unix domain socket', async () => {
    const socketPath = join(folderOfTest(), 'socket');
    const hosts = new Set<string | undefined>();
    const server = createServer((request, response) => {
      hosts.add(request.headers.host);
      response.end();
    });
    await listen(server, socketPath);
    const result = await sent({ target: { url: 'http://a.example/', socketPath } });
    expect(result.statusCodes).toEqual({ 200: result.calls.sent });
    expect([...hosts]).toEqual(['a.example']);
  });
});
