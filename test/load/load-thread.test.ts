import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TallyRecord } from '../../src/load/measure/tally.ts';
import { planArrivals } from '../../src/load/plan/arrival-plan.ts';
import { runEchoServer } from '../../src/load/send/echo-server.ts';
import { runLoadThread } from '../../src/load/send/rehearsal.ts';
import type { LoadCommand, LoadEvent, LoadThreadData } from '../../src/load/threads/messages.ts';
import { deadUrl, httpServer, tcpServer } from '../cli/support/servers.ts';
import { runUntil } from '../support/load-options.ts';
import { GET, urlOf } from './sending.ts';

// Runs in the test's thread, with a message channel in place of the main thread.

function channel(): MessageChannel {
  const made = new MessageChannel();
  onTestFinished(() => made.port1.close());
  return made;
}

interface Told {
  /** The instants admitted, in the order of the reports. */
  readonly admissions: readonly number[];
  readonly tally: TallyRecord;
  /** Requests sent in the warm-up. */
  readonly warmedUp: number;
  readonly startUs: number;
  readonly endUs: number;
}

const RATE = 200;

/** Runs a load thread from `ready` to `done`; `stopMs` ends it early. */
async function load(
  url: string,
  durationMs: number,
  data: Partial<LoadThreadData> = {},
  stopMs?: number,
  warmUpMs?: number,
): Promise<Told> {
  const { port1, port2 } = channel();
  const post = (command: LoadCommand) => port2.postMessage(command);
  const admissions: number[] = [];
  const ready = once(port2, 'message');
  runLoadThread(port1, {
    url,
    rehearsal: { url, requests: 0 },
    connections: 2,
    openAhead: 2,
    ...GET,
    timeoutMs: 1000,
    outstanding: 2,
    ...data,
  });
  expect(await ready).toEqual([{ type: 'ready' }]);
  const { bucket, startUs: firstUs } = planArrivals(RATE, 1, 20);
  const startUs = warmUpMs === undefined ? firstUs : firstUs - 0.5 + warmUpMs * 1000;
  const endUs = startUs - 0.5 + durationMs * 1000;
  let warmedUp = 0;
  const told = new Promise<TallyRecord>((resolve) => {
    port2.on('message', (event: LoadEvent) => {
      if (!('admissions' in event)) return;
      admissions.push(...event.admissions);
      if (event.type !== 'done') return;
      warmedUp = event.warmUp?.sent ?? 0;
      resolve(event.tally);
    });
  });
  const warmUp = warmUpMs === undefined ? {} : { firstUs };
  post({ type: 'go', bucket: bucket.handle, startUs, endUs, ...warmUp });
  if (stopMs !== undefined) post({ type: 'stop', endUs: startUs - 0.5 + stopMs * 1000 });
  const tally = await told;
  return { admissions, tally, warmedUp, startUs, endUs };
}

/** The same, until a request was due. */
const loadSome = (...run: Parameters<typeof load>) =>
  runUntil(
    ({ admissions }) => admissions.length > 0,
    () => load(...run),
  );

/** All instants due within `ms`, one slot apart. */
function expectSchedule({ admissions, startUs }: Told, durationMs: number): void {
  expect(admissions.length).toBeGreaterThan(0);
  expect(admissions.length).toBeLessThanOrEqual((durationMs * RATE) / 1000);
  const gaps = admissions.slice(1).map((at, i) => at - (admissions[i] as number));
  expect(Math.min(...gaps)).toBeGreaterThan(1e6 / RATE - 1);
  expect(admissions[0]).toBeGreaterThanOrEqual(startUs - 0.5);
  expect(admissions.at(-1)).toBeLessThan(startUs + durationMs * 1000);
}

describe('a load thread', () => {
  // docs/load.md: "Before the first request is due, the client compiles its code"
  it('warms up on the echo server, sends each request that is due, and reports all of them', async () => {
    const { port1, port2 } = channel();
    runEchoServer(port1, { http2: false });
    const [{ url }] = await once(port2, 'message');
    const body = Buffer.from('what is sent comes back');
    expect(await (await fetch(url)).text()).toBe('zerotime\n');
    expect(await (await fetch(url, { method: 'POST', body })).text()).toBe(body.toString());

    const told = await load(url, 600, { rehearsal: { url, requests: 5 } });
    expectSchedule(told, 600);
    const { counters, statusCodes } = told.tally;
    // The warm-up is not included.
    expect(counters).toEqual({ sent: told.admissions.length, succeeded: counters.sent, failed: 0 });
    expect([...statusCodes]).toEqual([[200, counters.sent]]);
  });

  it('sends a warm-up at the same rate, of which nothing counts', async () => {
    let answered = 0;
    const url = await urlOf(
      httpServer((_request, response) => {
        answered += 1;
        response.end();
      }),
    );
    // Longer than a busy machine holds up a thread.
    const told = await load(url, 500, {}, undefined, 500);
    const counted = told.admissions.filter((us) => us >= told.startUs).length;
    expect(told.warmedUp).toBe(told.admissions.length - counted);
    expect(told.tally.counters).toMatchObject({ sent: counted, failed: 0 });
    expect(answered).toBe(told.admissions.length);
    expect(counted).toBeGreaterThan(0);
    expect(told.warmedUp).toBeGreaterThan(0);
  });

  it('sends the given request, and counts statuses from 400 on as failed', async () => {
    const seen: unknown[] = [];
    const url = await urlOf(
      httpServer((request, response) => {
        seen.push([request.method, request.url, request.headers['user-agent']]);
        response.writeHead(seen.length % 2 === 0 ? 503 : 404).end();
      }),
    );
    const headers: [string, string][] = [['User-Agent', 'test']];
    const { tally } = await loadSome(`${url}a?b`, 50, { method: 'DELETE', headers });
    expect(new Set(seen.map(String))).toEqual(new Set(['DELETE,/a?b,test']));
    expect(tally.counters).toEqual({ sent: seen.length, succeeded: 0, failed: seen.length });
  });

  it('ends early on request, after the requests due before', async () => {
    const url = await urlOf(httpServer((_request, response) => response.end('ok')));
    const told = await loadSome(url, 3_600_000, {}, 100);
    expectSchedule(told, 100);
    expect(told.tally.counters.succeeded).toBe(told.admissions.length);
  });

  it('is ready although the warm-up failed, and counts refused connections', async () => {
    const url = await deadUrl();
    const { admissions, tally } = await loadSome(url, 50, {
      rehearsal: { url, requests: 5 },
    });
    expect(tally.counters).toEqual({
      sent: admissions.length,
      succeeded: 0,
      failed: tally.counters.sent,
    });
    expect([...tally.errors.values()]).toMatchObject([
      { kind: 'connection refused', count: admissions.length },
    ]);
  });

  it('times out unanswered requests, and counts those without a connection as unsent', async () => {
    const url = await urlOf(tcpServer(() => undefined));
    const { admissions, tally } = await load(url, 100, { connections: 1, timeoutMs: 2_000 });
    expect(tally.counters.sent).toBe(1);
    expect(tally.errors.get('timed out')?.count).toBe(1);
    expect(tally.errors.get('unsent')?.count ?? 0).toBe(admissions.length - 1);
  });

  it('continues with the queue after a connection broke', async () => {
    const url = await urlOf(tcpServer((socket) => socket.destroy()));
    const { admissions, tally } = await load(url, 100, { connections: 1 });
    expect(tally.counters).toMatchObject({ succeeded: 0, failed: admissions.length });
    expect(tally.counters.sent).toBe(admissions.length);
  });
});
