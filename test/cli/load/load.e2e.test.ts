import { writeFileSync } from 'node:fs';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { describe, expect, it } from 'vitest';
import {
  ALONE,
  expectConsistent,
  LoadRuns,
  NO_GATES,
  readJsonResult,
} from '../support/load-runs.ts';
import { Cli } from '../support/run-cli.ts';
import { httpServer } from '../support/servers.ts';

const runs = new LoadRuns();

// Concurrent: tests that neither keep to a rate nor need a port to stay free.

describe('zerotime load', () => {
  it('climbs from one rate to another within the guarantee', async () => {
    const args = ['--ramp', '200:1000:1s', '--duration', '1500ms'];
    const { code, result, stdout, stderr } = await runs.load(...args);
    expectConsistent(result);
    expect(code).toBe(0);
    expect(stderr).toContain('200/s to 1,000/s for 1.5 s');
    expect(stdout).toMatch(/wanted on average, from 200\/s to 1,000\/s/);
    expect(stdout).toMatch(/held: in every span of t seconds at most 1 \+ each rate x its time/);
    // The inflow is 600 in the first second and 500 in the last half.
    expect(result.admitted).toBeLessThanOrEqual(1_100);
    const lagMs = result.times.clientLag.ms?.max ?? Number.NaN;
    if (lagMs < 900) expect(result.admitted).toBe(1_100);
    expect(result.admitted).toBeGreaterThan(300);
  });

  it('meets the rate on its embedded server', async () => {
    const { code, result, stdout } = await runs.load('--rate', '1000', '--duration', '1s');
    expectConsistent(result);
    expect(code).toBe(0);
    expect(result.embeddedServer).toBe(true);
    expect(result.admitted).toBeLessThanOrEqual(1_000);
    // A slot is lost only if a thread wakes later than all that it reserved, which is 62 ms of the
    // schedule per thread: then the machine was busy.
    const lagMs = result.times.clientLag.ms?.max ?? Number.NaN;
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
    expect(histogram.getValueAtPercentile(50) / 1_000).toBe(latency.ms?.p50);
  });

  it.concurrent('keeps one rate over more threads than requests per second', async () => {
    const { code, result } = await runs.load('--rate', '1', '--threads', '8', '--duration', '2s');
    expectConsistent(result);
    expect(code).toBe(0);
    // The schedule has 2: fewer would mean that all threads were a second late.
    expect(result.admitted).toBeLessThanOrEqual(2);
  });

  it.concurrent('sends method, headers and body as they are given', async () => {
    const seen = new Set<string>();
    const server = await runs.kept(
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
    const { code, result } = await runs.load(`${server.url}path?q=1`, ...args, '--body', 'hello');
    expect(code).toBe(0);
    expect(result.statusCodes).toEqual({ 204: result.admitted });
    expect([...seen]).toEqual([`POST|/path?q=1|1|2|${new URL(server.url).host}|hello`]);
  });
});

describe('zerotime load, latency', () => {
  it('shows the stall of a server', async () => {
    const STALL_MS = 500;
    let stalled: Promise<void> | undefined;
    const server = await runs.kept(
      httpServer(async (_request, response) => {
        stalled ??= new Promise((resolve) => setTimeout(resolve, STALL_MS));
        await stalled;
        response.end();
      }),
    );
    // One connection: a client that waited for each response would send only one slow request.
    const args = ['--rate', '200', '--duration', '1500ms', '--threads', '1', '--connections', '1'];
    const { code, result } = await runs.load(server.url, ...args);
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
    expect(result.times.queued.ms?.max).toBeGreaterThan(95);
  });
});

describe('zerotime load, interrupted', () => {
  it.concurrent('ends with the summary so far', async () => {
    const path = runs.newPath();
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
    expect(result.calls.succeeded).toBeGreaterThan(0);
    expect(stdout).toMatch(/ended early/);
  });

  it.concurrent('ends at once when it is interrupted again', async () => {
    // The run waits for a teardown as long as for a call.
    const task = runs.newPath('.mjs');
    writeFileSync(
      task,
      'export default () => {}; export const teardown = () => new Promise(() => {});',
    );
    const cli = new Cli(['load', task, '--rate', '100', '--duration', '60s', '--timeout', '60s']);
    cli.onLiveLine((line) => {
      if (/[1-9]\d* calls/.test(line)) cli.child.kill('SIGINT');
    });
    const { code, stdout } = await cli.finished();
    expect(code).toBe(130);
    expect(stdout).toBe('');
  });
});
