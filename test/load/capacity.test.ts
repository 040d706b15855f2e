import { createServer, type ServerHttp2Stream } from 'node:http2';
import { expect, it, onTestFinished } from 'vitest';
import { renderSummary } from '../../src/cli/load/summary.ts';
import { limitText } from '../../src/cli/load/verdict.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import { Tally } from '../../src/load/measure/tally.ts';
import type { RequestOptions } from '../../src/load/plan/options.ts';
import { ConnectionPool } from '../../src/load/send/connection.ts';
import { Http2Sessions } from '../../src/load/send/http2.ts';
import { runLoad } from '../../src/load/threads/run.ts';
import type { DriveResult } from '../../src/load.ts';
import { FITNESS, resultOf } from '../cli/support/load-result.ts';
import { loadOptions, NO_GATES, runUntil } from '../support/load-options.ts';
import { GET, listen, senderTo } from './sending.ts';

/** A server whose sessions take this number of streams, or any; it answers after this time. */
async function slowServer(streams: number | undefined, answerMs: number): Promise<string> {
  const settings = streams === undefined ? {} : { maxConcurrentStreams: streams };
  const server = createServer({ settings });
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => undefined);
    setTimeout(() => {
      if (stream.destroyed) return;
      stream.respond();
      stream.end();
    }, answerMs);
  });
  return `http://127.0.0.1:${await listen(server)}/`;
}

const target = (url: string, connections: number): RequestOptions => ({ ...GET, url, connections });

it('HTTP/1.1 has room for a request per connection', () => {
  const pool = new ConnectionPool(target('http://127.0.0.1:9/', 3));
  expect(pool.capacity).toBe(3);
  pool.take();
  expect(pool.capacity).toBe(3);
});

it('HTTP/2 has room for as many requests as the server allows, in each session', async () => {
  const url = await slowServer(7, 0);
  const sessions = new Http2Sessions(target(url, 2));
  onTestFinished(() => sessions.close());
  expect(sessions.capacity).toBe(200);
  await sessions.open(2, 60_000);
  expect(sessions.capacity).toBe(14);
  sessions.take();
  expect(sessions.capacity).toBe(14);
});

it('HTTP/2 has room for 100 requests in a session of a server that sets no maximum', async () => {
  const sessions = new Http2Sessions(target(await slowServer(undefined, 0), 2));
  onTestFinished(() => sessions.close());
  await sessions.open(2, 60_000);
  expect(sessions.capacity).toBe(200);
});

it('requests that found no room name what was busy', async () => {
  for (const [http2, what] of [
    [true, 'stream'],
    [false, 'connection'],
  ] as const) {
    const tally = new Tally();
    // No connection is ever open, so no request is sent.
    const none = { connections: 0, tallyOf: () => tally };
    const sender = await senderTo('http://127.0.0.1:9/', { http2 }, none);
    sender.send(0, 0);
    sender.dropQueue();
    sender.close();
    expect(tally.errors.get('unsent')?.example).toBe(
      `no ${what} was free until the end of the run`,
    );
  }
});

it.each([
  ['threads', { threads: 2 }],
  ['processes', { threads: 1, processes: 2 }],
])('a run of two %s counts the streams that were all busy', async (_, spread) => {
  const url = await slowServer(3, 100);
  // Each session answers 30 a second at most.
  const options = loadOptions({
    url,
    transport: { http2: true },
    connections: 2,
    rate: 200,
    durationMs: 500,
    gates: NO_GATES,
    ...spread,
  });
  const busyIn = ({ fitness }: DriveResult) =>
    fitness?.limits.find(({ kind }) => kind === 'connections');
  const { signal: stop } = new AbortController();
  const wanted = { threads: 2, connections: 6, sessions: 2 };
  const run = async () => busyIn(await runLoad(options, { stop }));
  const isWhole = (limit: object | undefined) => limit && 'threads' in limit && limit.threads === 2;
  expect(await runUntil((limit) => isWhole(limit) === true, run)).toMatchObject(wanted);
});

it('the verdict names streams and sessions', () => {
  const busy = {
    kind: 'connections',
    queuedMs: 2,
    latencyMs: 3,
    connections: 300,
    threads: 3,
  } as const;
  expect(limitText({ ...busy, sessions: 3 })).toMatch(
    /^all 300 streams of 3 sessions of 3 threads were busy/,
  );
  expect(limitText({ ...busy, sessions: 1 })).toMatch(
    /^all 300 streams of 1 session of 3 threads were busy/,
  );
  expect(limitText(busy)).toMatch(/^all 300 connections of 3 threads were busy/);
  const limits = [{ ...busy, sessions: 3 }];
  const text = renderSummary(resultOf({ fitness: { ...FITNESS, fit: false, limits } }), PLAIN);
  expect(text.join('\n')).toContain('all 300 streams of 3 sessions of 3 threads were busy');
});
