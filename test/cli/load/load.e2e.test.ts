import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { afterAll, describe, expect, it } from 'vitest';
import { IN_FULL } from '../../support/random.ts';
import { errorCount, type JsonResult, readJsonResult } from '../support/json-result.ts';
import { Cli, type CliRun, runCli } from '../support/run-cli.ts';
import { deadUrl, httpServer, type TestServer, tcpServer } from '../support/servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'zerotime-load-'));
const servers: TestServer[] = [];

afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill()));
  rmSync(folder, { recursive: true });
});

async function kept(starting: Promise<TestServer>): Promise<TestServer> {
  const server = await starting;
  servers.push(server);
  return server;
}

/** Variants of other tests here, for `npm run test:all`: each starts a process. */
const variant = it.runIf(IN_FULL);

/** Where one thread shows as much as several: starting each takes longer than the load does. */
const ALONE = ['--threads', '1'];

/** Gates have their own tests; here a busy machine may miss the rate. */
const NO_GATES = ['--min-rate', '0%', '--max-errors', '100%'];

let runs = 0;

/** Runs `zerotime load` with these arguments until it exits. */
async function load(...args: string[]): Promise<CliRun & { result: JsonResult }> {
  runs += 1;
  const path = join(folder, `${runs}.json`);
  const run = await runCli(['load', ...NO_GATES, ...args, '--json', path]);
  return { ...run, result: readJsonResult(path) };
}

/** Checks that hold for every run, whatever happened to its requests. */
function expectConsistent(result: JsonResult): void {
  const { admitted, sent, requests, statusCodes, errors, threads } = result;
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
  expect(result.guarantee.held).toBe(true);
  expect(sum(threads.map((thread) => thread.admitted))).toBe(admitted);
  expect(sum([...result.admittedPer100Ms])).toBe(admitted);
  expect(requests.succeeded + requests.failed).toBe(admitted);
  expect(sum(Object.values(statusCodes)) + sum(errors.map(({ count }) => count))).toBe(admitted);
  expect(sent).toBe(admitted - errorCount(result, 'unsent'));
  expect(result.times.clientLag.count).toBe(admitted);
  expect(result.times.queued.count).toBe(admitted);
}

// Concurrent: tests that neither keep to a rate nor need a port to stay free.

describe('zerotime load', () => {
  variant('climbs from one rate to another within the guarantee', async () => {
    const args = ['--ramp', '200:1000:1s', '--duration', '1500ms'];
    const { code, result, stdout, stderr } = await load(...args);
    expectConsistent(result);
    expect(code).toBe(0);
    expect(stderr).toContain('200/s to 1,000/s for 1.5 s');
    expect(stdout).toMatch(/wanted on average, from 200\/s to 1,000\/s/);
    // The inflow is 600 in the first second and 500 in the last half, less what the steps leave
    // out.
    expect(result.admitted).toBeLessThanOrEqual(1_101);
    const lagMs = result.times.clientLag.ms?.['max'] ?? Number.NaN;
    if (lagMs < 60) expect(result.admitted).toBeGreaterThan(950);
    expect(result.admitted).toBeGreaterThan(300);
  });

  it('meets the rate on its embedded server', async () => {
    const { code, result, stdout } = await load('--rate', '1000', '--duration', '1s');
    expectConsistent(result);
    expect(code).toBe(0);
    expect(result.target.embeddedServer).toBe(true);
    expect(result.admitted).toBeLessThanOrEqual(1_000);
    // A slot is lost only if a thread wakes later than all that it reserved, which is 62 ms of the
    // schedule per thread: then the machine was busy.
    const lagMs = result.times.clientLag.ms?.['max'] ?? Number.NaN;
    if (lagMs < 60) expect(result.admitted).toBe(1_000);
    expect(Object.keys(result.statusCodes)).toEqual(['200']);
    expect(result.admittedPer100Ms).toHaveLength(10);
    expect(stdout).toMatch(/1,000\/s wanted/);
    expect(stdout).toMatch(/held: in every span of t seconds at most 1 \+ 1,000 x t requests/);
    // No escape sequences, because the output is not a terminal.
    expect(stdout).not.toContain('\u001b');
    // Other tools can read the histograms.
    const { latency } = result.times;
    const histogram = decodeFromCompressedBase64(latency.hdrHistogram);
    expect(histogram.totalCount).toBe(latency.count);
    expect(histogram.getValueAtPercentile(50) / 1_000).toBe(latency.ms?.['p50']);
  });

  variant.concurrent('keeps one rate over more threads than requests per second', async () => {
    const { code, result } = await load('--rate', '1', '--threads', '8', '--duration', '2s');
    expectConsistent(result);
    expect(code).toBe(0);
    // The schedule has 2: fewer would mean that all threads were a second late.
    expect(result.admitted).toBeLessThanOrEqual(2);
  });

  it.concurrent('sends method, headers and body as they are given', async () => {
    const seen = new Set<string>();
    const server = await kept(
      httpServer((request, response) => {
        let body = '';
        request.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        request.on('end', () => {
          const { method, url, headers } = request;
          seen.add([method, url, headers['x-a'], headers['x-b'], headers.host, body].join('|'));
          response.writeHead(204).end();
        });
      }),
    );
    const args = [
      '--rate',
      '50',
      '--duration',
      '200ms',
      '-H',
      'X-A: 1',
      '--header',
      'x-b: 2',
      ...ALONE,
    ];
    const { code, result } = await load(`${server.url}path?q=1`, ...args, '--body', 'hello');
    expect(code).toBe(0);
    expect(result.statusCodes).toEqual({ 204: result.admitted });
    expect([...seen]).toEqual([`POST|/path?q=1|1|2|${new URL(server.url).host}|hello`]);
  });

  it.concurrent('counts responses from 400 on as failed, and says so by its exit code', async () => {
    const server = await kept(httpServer((_request, response) => response.writeHead(503).end()));
    const { code, result, stdout } = await load(
      server.url,
      '--rate',
      '100',
      '--duration',
      '500ms',
      ...ALONE,
    );
    expectConsistent(result);
    expect(code).toBe(1);
    expect(result.statusCodes).toEqual({ 503: result.admitted });
    expect(result.requests).toMatchObject({ succeeded: 0, failed: result.admitted });
    expect(stdout).toMatch(/503 Service Unavailable +\d+ +100\.0 %/);
  });

  variant.concurrent('takes a redirect for a success and does not follow it', async () => {
    const server = await kept(
      httpServer((_request, response) => response.writeHead(302, { location: '/else' }).end()),
    );
    const { code, result } = await load(
      server.url,
      '--rate',
      '20',
      '--duration',
      '500ms',
      ...ALONE,
    );
    expect(code).toBe(0);
    expect(result.statusCodes).toEqual({ 302: result.admitted });
  });
});

describe('zerotime load, latency', () => {
  it('shows the stall of a server', async () => {
    const STALL_MS = 500;
    let stalled: Promise<void> | undefined;
    const server = await kept(
      httpServer(async (_request, response) => {
        stalled ??= new Promise((resolve) => setTimeout(resolve, STALL_MS));
        await stalled;
        response.end();
      }),
    );
    // One connection: a client that waited for each response would send only one slow request.
    const args = ['--rate', '200', '--duration', '1500ms', '--threads', '1', '--connections', '1'];
    const { code, result } = await load(server.url, ...args);
    expectConsistent(result);
    expect(code).toBe(0);
    // The stall starts with the first request and so ends at 500 ms or later. Requests due in the
    // first 400 ms therefore wait at least 100 ms, less the 1 ms by which timers may fire early.
    const early = result.admittedPer100Ms.slice(0, 4).reduce((sum, count) => sum + count, 0);
    expect(early).toBeGreaterThan(1);
    const histogram = decodeFromCompressedBase64(result.times.latency.hdrHistogram);
    const fastestOfEarly = (100 * (result.admitted - early + 1)) / result.admitted;
    expect(histogram.getValueAtPercentile(fastestOfEarly)).toBeGreaterThan(95_000);
    expect(histogram.maxValue).toBeGreaterThan((STALL_MS - 50) * 1_000);
    // The wait counts as queueing, not as this client's lag.
    expect(result.times.queued.ms?.['max']).toBeGreaterThan(95);
  });

  variant('measures the latency of a slow server from the instant of each request', async () => {
    const server = await kept(
      httpServer((_request, response) => setTimeout(() => response.end(), 300)),
    );
    const { code, result } = await load(server.url, '--rate', '50', '--duration', '1s');
    expectConsistent(result);
    expect(code).toBe(0);
    expect(result.times.response.ms?.['p50']).toBeGreaterThan(295);
    expect(result.times.latency.ms?.['p50']).toBeGreaterThan(295);
  });
});

describe('zerotime load, failures', () => {
  variant('counts refused connections, at the full rate, when nothing listens', async () => {
    const url = await deadUrl();
    // One connection per thread makes requests queue: undici fails an assertion if the next one is
    // sent during a failed connection attempt.
    const args = ['--rate', '1000', '--duration', '1s', '--threads', '2', '--connections', '2'];
    const { code, result, stdout } = await load(url, ...args);
    expectConsistent(result);
    expect(code).toBe(1);
    expect(errorCount(result, 'connection refused')).toBe(result.sent);
    expect(result.sent).toBeGreaterThan(0);
    expect(result.times.response.count).toBe(0);
    expect(stdout).toMatch(/connection refused .* connect ECONNREFUSED/);
  });

  variant('continues when the server is killed half-way', async () => {
    let answered = 0;
    const server = await kept(
      httpServer((_request, response) => {
        answered += 1;
        response.end();
        if (answered === 100) void server.kill();
      }),
    );
    const args = ['--rate', '200', '--duration', '1500ms', '--max-errors', '95%'];
    const { code, result } = await load(server.url, ...args);
    expectConsistent(result);
    expect(code).toBe(0);
    expect(result.statusCodes['200']).toBeGreaterThan(0);
    expect(errorCount(result, 'connection refused')).toBeGreaterThan(0);
  });

  it.concurrent('times out, requests that are queued as well, when a server never answers', async () => {
    const server = await kept(httpServer(() => undefined));
    const args = ['--rate', '100', '--duration', '1s', '--timeout', '200ms', '-t', '2', '-c', '4'];
    const { code, result, stdout } = await load(server.url, ...args);
    expectConsistent(result);
    expect(code).toBe(1);
    const timedOut = errorCount(result, 'timed out');
    expect(timedOut).toBe(result.sent);
    // Four connections, 200 ms each, for 1 s and the time that the queue is given after it.
    expect(timedOut).toBeGreaterThan(0);
    expect(timedOut).toBeLessThanOrEqual(4 * 8);
    expect(errorCount(result, 'unsent')).toBe(result.admitted - timedOut);
    // Neither may make the latency look better than it was.
    expect(result.times.latency.count).toBe(result.admitted);
    expect(result.times.latency.ms?.['max']).toBeGreaterThan(400);
    expect(stdout).toMatch(/Includes requests without a response/);
    expect(stdout).toMatch(/found no free connection in time/);
  });

  variant.concurrent('times out while it is still connecting', async () => {
    // It accepts and then says nothing, so that the TLS handshake never ends.
    const server = await kept(tcpServer(() => undefined));
    const args = ['--rate', '50', '--duration', '400ms', '--timeout', '100ms', '-t', '1'];
    const { code, result } = await load(server.url.replace('http:', 'https:'), ...args);
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
  it.concurrent.each(IN_FULL ? breaks : breaks.slice(0, 1))(
    'counts each as %s when the server says nothing sensible',
    async (kind, onData) => {
      const server = await kept(tcpServer(onData));
      const { code, result } = await load(
        server.url,
        '--rate',
        '100',
        '--duration',
        '500ms',
        ...ALONE,
      );
      expectConsistent(result);
      expect(code).toBe(1);
      expect(result.errors.map((error) => error.kind)).toEqual([kind]);
      expect(errorCount(result, kind)).toBe(result.admitted);
    },
  );

  variant.concurrent('times out a response that never comes to its end', async () => {
    const server = await kept(
      httpServer((_request, response) => {
        const drip = setInterval(() => response.write('drip'), 20);
        response.on('close', () => clearInterval(drip));
      }),
    );
    const args = ['--rate', '50', '--duration', '400ms', '--timeout', '150ms', ...ALONE];
    const { code, result } = await load(server.url, ...args);
    expectConsistent(result);
    expect(code).toBe(1);
    expect(errorCount(result, 'timed out')).toBe(result.admitted);
  });
});

describe('zerotime load, interrupted', () => {
  it.concurrent('ends with the summary so far', async () => {
    const path = join(folder, 'interrupted.json');
    const cli = new Cli([
      'load',
      ...NO_GATES,
      '--rate',
      '500',
      '--duration',
      '60s',
      '--json',
      path,
    ]);
    let interrupted = false;
    cli.onLiveLine((line) => {
      // Only once: a second interrupt would end it at once.
      if (interrupted || !/[1-9]\d* requests/.test(line)) return;
      interrupted = true;
      cli.child.kill('SIGINT');
    });
    const { code, stdout } = await cli.finished();
    expect(code).toBe(0);
    const result = readJsonResult(path);
    expectConsistent(result);
    expect(result.interrupted).toBe(true);
    expect(result.elapsedMs).toBeLessThan(60_000);
    expect(result.requests.succeeded).toBeGreaterThan(0);
    expect(stdout).toMatch(/ended early/);
  });

  it.concurrent('ends at once when it is interrupted again', async () => {
    const server = await kept(httpServer(() => undefined));
    const args = ['--rate', '100', '--duration', '60s', '--timeout', '60s', '-c', '4'];
    const cli = new Cli(['load', server.url, ...args]);
    cli.onLiveLine((line) => {
      if (/requests .*(now|waiting for)/.test(line)) cli.child.kill('SIGINT');
    });
    const { code, stdout } = await cli.finished();
    expect(code).toBe(130);
    expect(stdout).toBe('');
  });
});
