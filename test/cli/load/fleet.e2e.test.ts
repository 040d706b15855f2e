import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { joinFleet } from '../../../src/load/plan/fleet.ts';
import { CONNECT, type Connection } from '../../integrations/redis/connections.ts';
import { LossyProxy } from '../../integrations/redis/lossy-proxy.ts';
import { MovedTokens } from '../../integrations/redis/moved-tokens.ts';
import { LACKS_REDIS, RedisServer } from '../../integrations/redis/server.ts';
import { folderOfTest } from '../../support/folders.ts';
import { runCli } from '../support/run-cli.ts';
import { httpServer, type TestServer } from '../support/servers.ts';

const RATE = 300;
const SECONDS = 2;
const PROCESSES = 3;
const THREADS = 2;
/** The most reservations that all threads hold at the end: each 50 ms of them, and one on its way. */
const MOST_AHEAD = PROCESSES * THREADS * (Math.ceil((RATE * 0.05) / THREADS) + 1);

describe.skipIf(LACKS_REDIS)('zerotime load --redis', () => {
  let redis: RedisServer;
  let target: TestServer;
  let connection: Connection;
  let requests = 0;
  beforeAll(async () => {
    redis = await RedisServer.start();
    connection = await CONNECT.redis(redis.url);
    target = await httpServer((_, response) => {
      requests++;
      response.end();
    });
  });
  afterAll(async () => {
    connection?.end();
    await target?.kill();
    await redis?.stop();
  });

  const load = (...args: string[]) =>
    runCli(['load', target.url, '--rate', `${RATE}`, '--duration', `${SECONDS}`, ...args]);

  test('drives one target from several processes at one rate', async () => {
    const folder = folderOfTest();
    const key = `zerotime-load:${target.url.slice(0, -1)}`;
    const moved = await MovedTokens.of(redis.port, key);
    const serverUs = async () => {
      const [seconds, micros] = (await connection.send('TIME')) as string[];
      return Number(seconds) * 1e6 + Number(micros);
    };
    const begunUs = await serverUs();
    const files = Array.from({ length: PROCESSES }, (_, i) => join(folder, `${i}.json`));
    const runs = await Promise.all(
      files.map((file) => load('--redis', redis.url, '--threads', `${THREADS}`, '--json', file)),
    );
    const passedUs = (await serverUs()) - begunUs;
    for (const { code, stderr } of runs) {
      expect(code, stderr).toBe(0);
      expect(stderr).toContain(`shared under ${key}`);
    }
    const sent = files.map((file) => JSON.parse(readFileSync(file, 'utf8')).calls.sent);
    const total = sent.reduce((sum: number, count: number) => sum + count, 0);
    expect(Math.min(...sent)).toBeGreaterThan(0);
    expect(total).toBe(requests);
    expect(total).toBeLessThanOrEqual(1 + (RATE * passedUs) / 1e6);
    // Each request has a token of its own; those that were reserved beyond the end lapse.
    moved.close();
    const taken = Math.round(moved.tokens);
    expect(moved.tokens).toBeCloseTo(taken, 3);
    expect(total).toBeLessThanOrEqual(taken);
    expect(taken).toBeLessThanOrEqual(total + MOST_AHEAD);
  });

  test('starts on time on a slow network', async () => {
    const slow = await LossyProxy.to(redis.port);
    slow.delayMs = 40;
    const file = join(folderOfTest(), 'slow.json');
    const { code, stderr } = await load('--redis', slow.url, '--redis-key', 'slow', '--json', file);
    await slow.stop();
    expect(code, stderr).toBe(0);
    const { admittedPer100Ms } = JSON.parse(readFileSync(file, 'utf8'));
    expect(Math.max(...admittedPer100Ms.slice(0, 4))).toBeGreaterThan(0);
  });

  test('reports errors of the server, the limit or the command line', async () => {
    const { client } = connection;
    const other = RedisTokenBucket.create({ client, key: 'taken', rate: 1e-3, burst: 7 });
    await other.tryConsume();
    const [gone, taken, alone] = await Promise.all([
      load('--redis', 'redis://127.0.0.1:1'),
      load('--redis', redis.url, '--redis-key', 'taken'),
      runCli(['load', '--redis', redis.url]),
    ]);
    expect(gone.stderr).toMatch(/error: the Redis server at 127\.0\.0\.1:1: /);
    expect(taken.stderr).toContain('taken is limited to 0.001/s, burst 7, by another process');
    expect(alone.stderr).toContain('--redis needs a target URL');
    expect([gone.code, taken.code, alone.code]).toEqual([1, 1, 1]);
  });
});

test('zerotime load --redis names the package to install', async () => {
  vi.doMock('redis', () => {
    throw new Error('not there');
  });
  await expect(
    joinFleet({ url: 'redis://127.0.0.1:1', key: 'a', rate: 1, burst: 1 }),
  ).rejects.toThrow('npm install redis');
  vi.doUnmock('redis');
});
