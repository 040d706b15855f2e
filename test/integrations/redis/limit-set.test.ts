import { describe, expect, test } from 'vitest';
import { LimitSet } from '../../../src/index.ts';
import { RedisKeyedLimitSet, RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { LATER, NEVER } from '../../../src/kernel/bucket/kernel.ts';
import { MAX_SPAN_TICKS } from '../../../src/kernel/constants.ts';
import { changeOf } from '../../../src/limiters/limit.ts';
import { CONNECT, PACKAGES, remote } from './connections.ts';
import {
  expectFreePromises,
  expectNoLateCancels,
  expectNoneBeyondBurst,
  LIMITS,
  limitSetScene,
  SLOW,
} from './key-users.ts';
import { LACKS_REDIS, RedisServer } from './server.ts';

const NOW_US = 1_705_509_033_000_000;

describe.skipIf(LACKS_REDIS)('several limits on a server', () => {
  const { server, connection, create } = limitSetScene();

  test.each(PACKAGES)('admit a call if all do, and then count it, with %s', async (name) => {
    const { client, end } = await CONNECT[name](server.url);
    const bucket = create({ client });
    expect(await bucket.tryConsume(8)).toBe(true);
    expect(await bucket.tryConsume(3)).toBe(false);
    const { limits = [], ...all } = await bucket.decide(1);
    expect(all).toMatchObject({ allowed: true, limit: 10, remaining: 1 });
    expect(limits.map(({ limit, remaining }) => [limit, remaining])).toEqual([
      [10, 1],
      [25, 16],
    ]);
    const refused = await bucket.decide(5);
    expect(refused.retryAfterMs).toBe(refused.limits?.[0]?.retryAfterMs);
    expect(refused.retryAfterMs).toBeGreaterThan(3.9e6);
    expect(refused.limits?.[1]?.retryAfterMs).toBe(0);
    expect(await bucket.consumeOrDrain(100)).toBe(1);
    // The wait is that of the limit that has its tokens last.
    expect(await bucket.acquire(10)).toBeGreaterThan(9.9e6);
    expect(await bucket.acquire(9)).toBeGreaterThan(18.9e6);
    expect(Math.round(await bucket.balance())).toBe(-19);
    expect(bucket.limits).toEqual(LIMITS);
    expect([bucket.rate, bucket.burst, bucket.limit]).toEqual([SLOW / 2, 10, 10]);
    expect(String(bucket)).toContain('10 at 0.001/s and 25 at 0.0005/s');
    end();
  });

  test('promise tokens, and take back those of the latest promise only', async () => {
    const bucket = create();
    const first = await bucket.reserve(10);
    const second = await bucket.reserve(5);
    expect(second?.waitMs).toBeGreaterThan(4.9e6);
    expect(await first?.cancel()).toBe(false);
    expect(await second?.cancel()).toBe(true);
    const { limits } = await bucket.decide(0);
    expect(limits?.map(({ remaining }) => remaining)).toEqual([0, 15]);
    await bucket.returnTokens(100);
    expect((await bucket.decide(0)).limits?.map(({ remaining }) => remaining)).toEqual([10, 25]);
    await expect(bucket.reserve(11)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
    await bucket.wait(10);
    await expect(bucket.wait(1, { timeoutMs: 5 })).rejects.toMatchObject({
      code: 'ERR_RATE_LIMIT_TIMEOUT',
    });
    expect(await bucket.timeUntil(11)).toBe(Number.POSITIVE_INFINITY);
  });

  test('take back a promise of nothing until tokens are taken, and none after its instant', async () => {
    const asked = remote(connection, { limits: LIMITS }, () => NOW_US, 'free');
    await expectFreePromises(asked, () => connection.send('DEL', 'free'));
    await expectNoLateCancels(create());
  });

  test('hold at the granted instants, although one that was raised delays the calls', async () => {
    let nowUs = NOW_US;
    const limits = [
      { rate: 2000, burst: 1 },
      { rate: 1000, burst: 5 },
    ];
    const bucket = remote(connection, { limits }, () => nowUs);
    await bucket.reconfigure((now) => changeOf(2, [{ burst: 100 }, {}])(now));
    const wait = async (n: number) => (await bucket.acquire(n, Number.POSITIVE_INFINITY)).waitUs;
    expect(await wait(5)).toBe(2000);
    nowUs += 8;
    // The second limit is empty at that instant, and needs 2 ms for two tokens.
    const promised = await bucket.acquire(2, Number.POSITIVE_INFINITY);
    expect(promised.waitUs).toBe(3992);
    expect(await bucket.cancel(promised)).toBe(true);
    expect(await Promise.all([wait(2), wait(1)])).toEqual([3992, 4992]);
  });

  test('of each key are separate', async () => {
    const { client } = connection;
    const perKey = RedisKeyedLimitSet.create({ client, prefix: 'users', limits: LIMITS });
    expect(await perKey.consumeOrDrain('a', 100)).toBe(10);
    expect(await perKey.consumeOrDrain('b', 100)).toBe(10);
    expect((await perKey.decide('a', 0)).limits?.map((one) => one.remaining)).toEqual([0, 15]);
    await perKey.reconfigure('a', { limits: [{ burst: 20 }, {}] });
    expect(perKey.for('a').limits.map(({ burst }) => burst)).toEqual([10, 25]); // not asked yet
    expect((await perKey.decide('a', 0)).limit).toBe(20);
    expect([perKey.rate, perKey.burst, perKey.limits]).toEqual([SLOW / 2, 10, LIMITS]);
    expect(String(perKey)).toContain('10 at 0.001/s and 25');
  });

  test('count every token of the largest bursts', async () => {
    // Of 2 ticks and of 1 tick.
    const burst = MAX_SPAN_TICKS / 2;
    const limits = [
      { rate: 2048e6, burst },
      { rate: 4e9, burst: 2 * burst },
    ];
    const bucket = remote(connection, { limits }, () => NOW_US);
    const takes = [burst / 2, burst / 2, burst / 2, burst + 2 ** 10].map((n) =>
      bucket.acquire(n, 0).then(({ waitUs }) => waitUs),
    );
    expect(await Promise.all(takes)).toEqual([0, 0, LATER, NEVER]);
    await bucket.returnTokens(3);
    expect(await bucket.drain(1e300)).toBe(3);
    await bucket.returnTokens(burst);
    expect(await bucket.drain(burst)).toBe(burst);
    await bucket.returnTokens(burst);
    const equal = Array.from({ length: 3 }, () => bucket.tryTake(burst / 2));
    expect(await Promise.all(equal)).toEqual([true, true, false]);
    const promised = await bucket.acquire(2 ** 55, Number.POSITIVE_INFINITY);
    expect(promised.waitUs).toBe(2 ** 56 / 4096);
    expect(await bucket.cancel(promised)).toBe(true);
    expect(await bucket.balance()).toBe(0);
  });

  test('refuse any number of tokens that is beyond a burst', async () => {
    const bucket = create();
    await bucket.tryConsume();
    await expectNoneBeyondBurst(bucket);
    expect(await bucket.consumeOrDrain(Number.MAX_VALUE)).toBe(8);
  });

  test('of which one is unlimited take back promised tokens', async () => {
    let nowUs = NOW_US;
    const limits = [{ rate: Number.POSITIVE_INFINITY, burst: 1 }, ...LIMITS];
    const bucket = remote(connection, { limits }, () => nowUs);
    await bucket.acquire(3, 0);
    nowUs += 1e6;
    expect(await bucket.cancel(await bucket.acquire(2, 0))).toBe(true);
    expect(await bucket.drain(10)).toBe(7);
  });

  test('are shared by processes while the server is unreachable', async () => {
    const gone = await RedisServer.start();
    const lost = await CONNECT.ioredis(gone.url);
    const limits = [
      { rate: SLOW, burst: 12 },
      { rate: SLOW, burst: 9 },
    ];
    const options = { client: lost.client, limits };
    const bucket = create({ ...options, whenUnreachable: 'local', processes: 3 });
    const perKey = RedisKeyedLimitSet.create({
      ...options,
      prefix: 'users',
      whenUnreachable: 'local',
      processes: 3,
    });
    expect(await bucket.consumeOrDrain(4)).toBe(4);
    await bucket.reconfigure({ limits: [{ burst: 30 }, { burst: 6 }] });
    await perKey.reconfigure('b', { limits: [{}, { burst: 3 }] });
    const one = RedisTokenBucket.create({
      ...{ client: lost.client, key: 'a', rate: SLOW, burst: 30 },
      ...{ whenUnreachable: 'local', processes: 3 },
    });
    expect(await one.tryConsume(0)).toBe(true);
    const refusing = create(options);
    await gone.stop();
    expect(await bucket.consumeOrDrain(100)).toBe(2);
    expect(await one.consumeOrDrain(100)).toBe(2);
    expect(await perKey.consumeOrDrain('a', 100)).toBe(3);
    expect(await perKey.consumeOrDrain('b', 100)).toBe(1);
    const refused = await refusing.decide();
    expect(refused).toMatchObject({ allowed: false, remaining: 0, limit: 9 });
    expect(refused.limits?.map(({ limit }) => limit)).toEqual([12, 9]);
    lost.end();
  });

  test('name an invalid option', () => {
    const bad = (options: object) => () => create(options as never);
    expect(bad({ limits: [] })).toThrow(/limits must be an array of 1 to 8 limits, got 0/);
    expect(bad({ rate: 1 })).toThrow(/options has no option "rate"/);
    expect(bad({ limits: [LIMITS[0], { rate: 0, burst: 1 }] })).toThrow(/limits\[1\].rate must be/);
    expect(bad({ limits: [{ quantum: 1, fillIntervalMs: 1, burst: 1 }] })).toThrow(/not a quantum/);
    expect(bad({ timeout: 5 })).toThrow(/options has no option "timeout"/);
    const { client } = connection;
    const keyed = { client, prefix: 'a', limits: LIMITS, localBucket: LimitSet };
    expect(() => RedisKeyedLimitSet.create(keyed as never)).toThrow(/no option "localBucket"/);
    const large = { client, prefix: 'users', limits: LIMITS, localCapacity: 2e7 };
    expect(() => RedisKeyedLimitSet.create(large)).toThrow(/localCapacity must be .* got 20000000/);
  });
});
