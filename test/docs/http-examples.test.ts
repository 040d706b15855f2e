import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { TokenBucket } from '../../src/index.ts';
import { hostPath } from '../support/host.ts';
import { HAS_REUSE_PORT, heldPort } from '../support/http-threads.ts';

const EXAMPLES = new URL('../../docs/examples/', import.meta.url);
const THREADS = 3;
const BURST = 7;
/** So slow that no token arrives during the test. */
const PER_HOUR = 0.01;

const SCRIPTS = ['node-http.mjs', 'fastify.mjs', 'express.mjs', 'hono.mjs'];

/** Runs an example, which ends with the test. */
function start(name: string, settings: Readonly<Record<string, string>>, ...args: string[]) {
  const child = spawn(process.execPath, [new URL(name, EXAMPLES).pathname, ...args], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  return { child, lines: createInterface(child.stdout) };
}

/** Starts the example on this port or, if it is 0, on any; resolves with the port of each thread. */
async function serve(script: string, port: number): Promise<number[]> {
  const settings = {
    PORT: `${port}`,
    THREADS: `${THREADS}`,
    BURST: `${BURST}`,
    PER_HOUR: `${PER_HOUR}`,
  };
  const ports: number[] = [];
  for await (const line of start('serve.mjs', settings, script).lines) {
    ports.push(Number(/port: (\d+)/.exec(line)?.[1]));
    if (ports.length === THREADS) break;
  }
  return ports;
}

/** Sends one request from this loopback address. */
async function get(port: number | undefined, localAddress: string): Promise<IncomingMessage> {
  const sent = request({ host: '127.0.0.1', port, localAddress, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response;
}

test.each(SCRIPTS)('%s keeps one limit per client over all of its threads', async (script) => {
  const ports = await serve(script, 0);
  expect(new Set(ports).size).toBe(THREADS);
  const answers: IncomingMessage[] = [];
  for (let i = 0; i < BURST + 3; i++) {
    answers.push(await get(ports[i % THREADS], '127.0.0.1'));
  }
  const statuses = answers.map(({ statusCode }) => statusCode);
  expect(statuses).toEqual([...Array(BURST).fill(200), 429, 429, 429]);
  const remaining = answers.map(({ headers }) => /r=(\d+)/.exec(`${headers['ratelimit']}`)?.[1]);
  expect(remaining).toEqual(['6', '5', '4', '3', '2', '1', '0', '0', '0', '0']);
  for (const { headers, statusCode } of answers) {
    expect(headers['ratelimit-policy']).toBe(`"default";q=${BURST}`);
    const seconds = headers['retry-after'];
    if (statusCode === 200) expect(seconds).toBeUndefined();
    else expect(seconds).toMatch(/^3[56]\d{4}$/); // an hour adds a hundredth of a token
  }
  // Another client has its own limit.
  const other = await get(ports[0], '127.0.0.2');
  expect([other.statusCode, other.headers['ratelimit']]).toEqual([
    200,
    expect.stringContaining('r=6;'),
  ]);
});

test.runIf(HAS_REUSE_PORT).each(SCRIPTS)('%s does so on one port', async (script) => {
  const held = await heldPort();
  const ports = await serve(script, held.port);
  held.close();
  expect(ports).toEqual(Array(THREADS).fill(held.port));
  const statuses: (number | undefined)[] = [];
  for (let i = 0; i < BURST + 3; i++) {
    statuses.push((await get(held.port, '127.0.0.1')).statusCode);
  }
  expect(statuses).toEqual([...Array(BURST).fill(200), 429, 429, 429]);
});

const PROCESSES = 4;

/** Starts the cluster, and returns what sends it requests and tells the answers by status. */
async function cluster(settings: Readonly<Record<string, string>>) {
  const { lines } = start('cluster.mjs', { REGION: hostPath(), PORT: '0', ...settings });
  let listening = 0;
  let port = '';
  for await (const line of lines) {
    [, port = ''] = line.split(' ');
    if (++listening === PROCESSES) break;
  }
  const ask = async () => {
    // Each request on a connection of its own, so that all processes get some.
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
    return { status: answer.status, body: await answer.text() };
  };
  return async (requests: number) => {
    const answers = await Promise.all(Array.from({ length: requests }, ask));
    const of = (wanted: number) => answers.filter(({ status }) => status === wanted);
    // Each that is admitted names the process that served it.
    return { admitted: of(200).map(({ body }) => body), refused: of(429).length };
  };
}

test('a cluster of four serves one port with express, and admits exactly its burst', async () => {
  const send = await cluster({ RATE: '0.001', BURST: '50' });
  const { admitted, refused } = await send(120);
  expect([admitted.length, refused]).toEqual([50, 70]);
  expect(new Set(admitted).size).toBeGreaterThan(1);
});

test('it keeps its rate while all of its processes serve', async () => {
  const startMs = performance.now();
  const send = await cluster({ RATE: '200', BURST: '100' });
  const served: string[] = [];
  let refused = 0;
  while (refused === 0 || new Set(served).size < PROCESSES || served.length < 150) {
    const answers = await send(100);
    served.push(...answers.admitted);
    refused += answers.refused;
  }
  const seconds = (performance.now() - startMs) / 1000;
  expect(served.length).toBeLessThanOrEqual(100 + 200 * seconds);
});

test('programs that do not know of each other, and forks, keep one limit', async () => {
  const REGION = hostPath();
  const settings = { REGION, RATE: '200', BURST: '60000', SECONDS: '0.3' };
  const region = HostRegion.open({ path: REGION });
  onTestFinished(() => region.close());
  const bucket = TokenBucket.open(region, 'rows', { rate: 200, burst: 60_000 });
  const before = bucket.balance();
  const runs = ['job.mjs', 'job.mjs', 'forks.mjs'].map((name) => start(name, settings));
  const counts: number[] = [];
  for (const { lines } of runs) lines.on('line', (line) => counts.push(Number(line)));
  await Promise.all(runs.map(({ child }) => once(child, 'close')));
  expect(counts).toHaveLength(5);
  const rows = counts.reduce((sum, count) => sum + count, 0);
  // A full bucket admits no more than it holds, and some arrive meanwhile.
  expect(rows).toBeGreaterThanOrEqual(before - bucket.balance());
  expect(Math.min(...counts)).toBeGreaterThan(0);
});
