import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { HAS_REUSE_PORT, heldPort } from '../support/http-threads.ts';

const SERVE = new URL('../../docs/examples/serve.mjs', import.meta.url).pathname;
const THREADS = 3;
const BURST = 7;
/** So slow that no token arrives during the test. */
const PER_HOUR = 0.01;

const SCRIPTS = ['node-http.mjs', 'fastify.mjs', 'express.mjs', 'hono.mjs'];

/** Starts the example on this port or, if it is 0, on any; resolves with the port of each thread. */
async function serve(script: string, port: number): Promise<number[]> {
  const settings = {
    PORT: `${port}`,
    THREADS: `${THREADS}`,
    BURST: `${BURST}`,
    PER_HOUR: `${PER_HOUR}`,
  };
  const server = spawn(process.execPath, [SERVE, script], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    server.kill();
    await once(server, 'exit');
  });
  const ports: number[] = [];
  for await (const line of createInterface(server.stdout)) {
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
