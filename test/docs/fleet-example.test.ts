import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ticksOfHalves } from '../../src/integrations/redis/limit-text.ts';
import { scheduleOf } from '../../src/limiters/limit.ts';
import { CONNECT } from '../integrations/redis/connections.ts';
import { LACKS_REDIS, RedisServer } from '../integrations/redis/server.ts';

const FLEET = new URL('../../dist/docs/examples/fleet.js', import.meta.url).pathname;
const RATE = 500;
/** Eight seconds' worth: once some are taken, the bucket is not full again before the test is over. */
const BURST = 4000;

describe.skipIf(LACKS_REDIS)('docs/examples/fleet.ts', () => {
  test('three processes of two threads keep one limit, by the clock of the server', async () => {
    const server = await RedisServer.start();
    const settings = { REDIS_URL: server.url, RATE: `${RATE}`, BURST: `${BURST}`, SECONDS: '2' };
    const env = { ...process.env, ...settings };
    const { stdout } = await promisify(execFile)(process.execPath, [FLEET], { env });
    const { send, end } = await CONNECT.redis(server.url);
    const [key] = (await send('KEYS', 'fleet-*')) as string[];
    const words = String(await send('GET', key ?? '')).split(' ');
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
    // Not one more and not one less: so far has the bucket moved on since it was full.
    const { ticksPerToken, capTicks } = scheduleOf({ rate: RATE, burst: BURST });
    const zeroTime = ticksOfHalves(Number(words[5]), Number(words[6]));
    expect(zeroTime + capTicks).toBe(BigInt(admitted) * BigInt(ticksPerToken));
    expect(admitted).toBeGreaterThan(BURST / 10);
  });
});
