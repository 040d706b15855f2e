import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { RedisTokenBucket } from '../../src/integrations/redis.ts';
import { scheduleOf } from '../../src/limiters/limit.ts';
import { CONNECT } from '../integrations/redis/connections.ts';
import { LACKS_REDIS, RedisServer } from '../integrations/redis/server.ts';
import { storedZeroTime } from '../integrations/redis/stored-bucket.ts';

const FLEET = new URL('programs/fleet.mjs', import.meta.url).pathname;
const RATE = 500;
/** The test takes half of it, a minute's worth, so the bucket cannot fill up on a busy machine. */
const BURST = 60_000;

describe.skipIf(LACKS_REDIS)('one key on a server', () => {
  test("three processes of two threads keep one limit, by the server's clock", async () => {
    const server = await RedisServer.start();
    const { client, send, end } = await CONNECT.redis(server.url);
    const zeroTime = () => storedZeroTime({ send }, 'fleet');
    const limit = { key: 'fleet', rate: RATE, burst: BURST };
    await RedisTokenBucket.create({ client, ...limit }).tryConsume(BURST / 2);
    const before = await zeroTime();
    const settings = { REDIS_URL: server.url, RATE: `${RATE}`, BURST: `${BURST}`, SECONDS: '2' };
    const env = { ...process.env, ...settings };
    const { stdout } = await promisify(execFile)(process.execPath, [FLEET], { env });
    const moved = (await zeroTime()) - before;
    end();
    await server.stop();
    const [, processes, threads, seconds] = /(\d+) processes x (\d+) threads, ([\d.]+) s/.exec(
      stdout,
    ) as RegExpExecArray;
    expect([processes, threads]).toEqual(['3', '2']);
    const [, total, sum = ''] = /admitted (\d+), ([\d +]+); at most/.exec(
      stdout,
    ) as RegExpExecArray;
    const parts = sum.split(' + ').map(Number);
    expect(parts).toHaveLength(3);
    const admitted = parts.reduce((all, part) => all + part, 0);
    expect(admitted).toBe(Number(total));
    expect(admitted).toBeLessThanOrEqual(BURST + RATE * Number(seconds) + RATE * 0.001);
    // The bucket's zero-time moved by exactly the tokens admitted.
    expect(moved).toBe(BigInt(admitted) * BigInt(scheduleOf(limit).ticksPerToken));
    expect(admitted).toBeGreaterThan(800);
  });
});
