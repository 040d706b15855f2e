import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ALONE, errorCount, expectConsistent, LoadRuns } from '../support/load-runs.ts';
import { deadUrl, httpServer, tcpServer } from '../support/servers.ts';

const runs = new LoadRuns();

// Concurrent: tests that neither keep to a rate nor need a port to stay free.

describe('zerotime load, failures', () => {
  it('counts refused connections, at the full rate, when nothing listens', async () => {
    const url = await deadUrl();
    // One connection per thread makes requests queue: undici fails an assertion if the next one is
    // sent during a failed connection attempt.
    const args = ['--rate', '1000', '--duration', '1s', '--threads', '2', '--connections', '2'];
    const { code, result, stdout } = await runs.load(url, ...args);
    expectConsistent(result);
    expect(code).toBe(1);
    expect(errorCount(result, 'connection refused')).toBe(result.calls.sent);
    expect(result.calls.sent).toBeGreaterThan(0);
    // Failed requests have times, too.
    expect(result.times.response.count).toBe(result.calls.sent);
    expect(stdout).toMatch(/connection refused .* connect ECONNREFUSED/);
  });

  it('continues when the server is killed half-way', async () => {
    let answered = 0;
    const server = await runs.kept(
      httpServer((_request, response) => {
        answered += 1;
        response.end();
        if (answered === 100) void server.kill();
      }),
    );
    const args = ['--rate', '200', '--duration', '1500ms', '--max-errors', '95%'];
    const { code, result } = await runs.load(server.url, ...args);
    expectConsistent(result);
    expect(code).toBe(0);
    expect(result.statusCodes['200']).toBeGreaterThan(0);
    expect(errorCount(result, 'connection refused')).toBeGreaterThan(0);
  });

  it.concurrent('times out, requests that are queued as well, when a server never answers', async () => {
    const server = await runs.kept(httpServer(() => undefined));
    const args = ['--rate', '100', '--duration', '1s', '--timeout', '200ms', '-t', '2', '-c', '4'];
    const { code, result, stdout } = await runs.load(server.url, ...args);
    expectConsistent(result);
    expect(code).toBe(1);
    const timedOut = errorCount(result, 'timed out');
    expect(timedOut).toBe(result.calls.sent);
    // Four connections, 200 ms each, for 1 s and the time that the queue is given after it.
    expect(timedOut).toBeGreaterThan(0);
    expect(timedOut).toBeLessThanOrEqual(4 * 8);
    expect(errorCount(result, 'unsent')).toBe(result.admitted - timedOut);
    // Neither may make the latency look better than it was.
    expect(result.times.latency.count).toBe(result.admitted);
    expect(result.times.latency.ms?.max).toBeGreaterThan(400);
    expect(stdout).toMatch(/Includes requests without a response/);
    expect(stdout).toMatch(/found no free connection in time/);
  });

  it.concurrent('times out while it is still connecting', async () => {
    // It accepts and then says nothing, so that the TLS handshake never ends.
    const server = await runs.kept(tcpServer(() => undefined));
    const args = ['--rate', '50', '--duration', '400ms', '--timeout', '100ms', '-t', '1'];
    const { code, result } = await runs.load(server.url.replace('http:', 'https:'), ...args);
    expectConsistent(result);
    expect(code).toBe(1);
    expect(errorCount(result, 'timed out')).toBe(result.admitted);
  });

  const breaks: [kind: string, onData: (socket: Socket) => void][] = [
    ['connection reset', (socket) => socket.resetAndDestroy()],
    ['connection closed', (socket) => socket.end()],
    ['bad response', (socket) => socket.write('this is not HTTP\r\n\r\n')],
    [
      'connection closed',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'),
    ],
  ];
  it.concurrent.each(breaks)(
    'counts each as %s when the server says nothing sensible',
    async (kind, onData) => {
      const server = await runs.kept(tcpServer(onData));
      const args = ['--rate', '100', '--duration', '500ms', ...ALONE];
      const { code, result } = await runs.load(server.url, ...args);
      expectConsistent(result);
      expect(code).toBe(1);
      expect(result.errors.map((error) => error.kind)).toEqual([kind]);
      expect(errorCount(result, kind)).toBe(result.admitted);
    },
  );

  it.concurrent('times out a response that never comes to its end', async () => {
    const server = await runs.kept(
      httpServer((_request, response) => {
        const drip = setInterval(() => response.write('drip'), 20);
        response.on('close', () => clearInterval(drip));
      }),
    );
    const args = ['--rate', '50', '--duration', '400ms', '--timeout', '150ms', ...ALONE];
    const { code, result } = await runs.load(server.url, ...args);
    expectConsistent(result);
    expect(code).toBe(1);
    expect(errorCount(result, 'timed out')).toBe(result.admitted);
  });
});
