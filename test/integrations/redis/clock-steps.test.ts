import { describe, expect, test } from 'vitest';
import { type NodeRedisClient, RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { Random, SEED } from '../../support/random.ts';
import { connectionOfTest, remote, serverOfSuite } from './connections.ts';
import { LACKS_REDIS } from './server.ts';
import { changeFields, storedFields } from './stored-bucket.ts';

const HOUR_US = 3600e6;
const NOW_US = 1_705_509_033_000_000;

const FAST = { rate: 10, burst: 10 };
const LIMITS = [
  ['one limit', FAST],
  ['several limits', { limits: [{ rate: 1e-3, burst: 1000 }, FAST] }],
] as const;

describe.skipIf(LACKS_REDIS)("when the server's clock is set", () => {
  const connection = connectionOfTest(serverOfSuite());

  test.each(LIMITS)('back, time continues from where it was, under %s', async (_, limit) => {
    let nowUs = NOW_US;
    const bucket = remote(connection, limit, () => nowUs);
    expect(await bucket.drain(100)).toBe(10);
    for (let i = 0; i < 5; i++) {
      nowUs -= HOUR_US;
      expect(await bucket.drain(100)).toBe(0);
      nowUs += 500_000;
      expect(await bucket.drain(100)).toBe(5);
    }
  });

  test.each(LIMITS)('forward, the bucket is full and no fuller, under %s', async (_, limit) => {
    let nowUs = NOW_US;
    const bucket = remote(connection, limit, () => nowUs);
    expect(await bucket.drain(100)).toBe(10);
    nowUs += 9000 * HOUR_US;
    expect(await bucket.drain(100)).toBe(10);
    nowUs -= 9000 * HOUR_US;
    expect(await bucket.drain(100)).toBe(0);
    nowUs += 1e6;
    expect(await bucket.drain(100)).toBe(10);
  });

  test(`repeatedly, no time that has not passed adds tokens (ZEROTIME_SEED=${SEED})`, async () => {
    const random = new Random(SEED);
    let nowUs = NOW_US;
    const [rate, burst] = [100, 7];
    const bucket = remote(connection, { rate, burst }, () => nowUs);
    let [admitted, forwardUs] = [0, 0];
    for (let i = 0; i < 2000; i++) {
      const step = Math.floor(random.logarithmic(1, HOUR_US));
      if (random.below(2) === 0) nowUs -= step;
      else {
        const small = Math.floor(random.logarithmic(1, 1e6));
        nowUs += small;
        forwardUs += small;
      }
      if ((await bucket.acquire(1, 0)).waitUs === 0) admitted++;
      expect(admitted).toBeLessThanOrEqual(burst + (rate * forwardUs) / 1e6);
    }
    expect(admitted).toBeGreaterThan(burst);
    nowUs += (burst / rate) * 1e6;
    expect(await bucket.balance()).toBe(burst);
  });

  test('back an hour, its buckets still work', async () => {
    const { client } = connection;
    // Empty, so that its key lives for a minute.
    const bucket = RedisTokenBucket.create({ client, key: 'a', rate: 100, burst: 6000 });
    await bucket.consumeOrDrain(6000);
    // Shifts the stored instants, as if the clock had been an hour ahead when they were written.
    const { seen, origin } = await storedFields(connection, 'a');
    await changeFields(connection, 'a', { seen: seen + HOUR_US, origin: origin + HOUR_US });
    await bucket.wait(1, { timeoutMs: 1000 });
    await bucket.wait(2, { timeoutMs: 1000 });
    expect((await storedFields(connection, 'a')).lag).toBeGreaterThan(HOUR_US - 60e6);
  });

  test('forward, only a few calls count as late', async () => {
    const { client } = connection;
    let wrong = 0;
    const real = client as NodeRedisClient;
    const behind: NodeRedisClient = {
      evalSha: (sha, options) => {
        const deadline = Number(options.arguments[2]);
        if (deadline > 0 && wrong++ < 2) options.arguments[2] = String(deadline - HOUR_US);
        return real.evalSha(sha, options);
      },
      eval: (script, options) => real.eval(script, options),
      on: () => undefined,
    };
    const bucket = RedisTokenBucket.create({ client: behind, key: 'a', rate: 1, burst: 5 });
    expect(await bucket.consumeOrDrain(100)).toBe(5);
    expect(wrong).toBe(3);
    expect(bucket.stats().unreachable).toBe(0);
  });
});
