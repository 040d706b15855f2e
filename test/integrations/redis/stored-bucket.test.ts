import { describe, expect, test } from 'vitest';
import { FIELDS, formatOf, LIMIT_FIELDS } from '../../../src/integrations/redis/script/format.ts';
import { RedisLimitSet, RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { connectionOfTest, executed, remote, serverOfSuite } from './connections.ts';
import { LIMITS, limitSetScene, SLOW } from './key-users.ts';
import { LACKS_REDIS } from './server.ts';
import { changeFields, isShort, storedFields } from './stored-bucket.ts';

/** So slow that no token arrives during a test. */
const LIMIT = { rate: 1e-2, burst: 10 };

describe.skipIf(LACKS_REDIS)('a stored bucket', () => {
  const server = serverOfSuite();
  const connection = connectionOfTest(server);

  const create = (limit: object = LIMIT, key = 'a') =>
    RedisTokenBucket.create({ client: connection.client, key, ...LIMIT, ...limit });

  // docs/redis.md: "Each bucket is one string"
  // docs/redis.md: "Moving the expiry of a key costs"
  test('is overwritten in place, and its expiry moved seldom', async () => {
    const bucket = create({ rate: 1, burst: 1000 });
    for (let i = 0; i < 500; i++) await bucket.tryConsume();
    expect(await executed(connection, 'setrange')).toBeGreaterThan(450);
    expect(await executed(connection, 'set')).toBeLessThan(20);
    // Neither before it is full nor much later.
    const ttlMs = Number(await connection.send('PTTL', 'a'));
    expect(ttlMs).toBeGreaterThan(490_000);
    expect(ttlMs).toBeLessThanOrEqual(1_000_001);
  });

  test.each([
    ['with fills', { rate: undefined, quantum: 5, fillIntervalMs: 60_000 }, 10],
    ['that takes weeks to fill', { rate: 1e-2, burst: 100_000 }, 100_000],
  ])('%s takes the long path', async (_, limit, burst) => {
    const bucket = create(limit);
    expect(await bucket.tryConsume(3)).toBe(true);
    expect(await bucket.tryConsume()).toBe(true);
    expect(isShort(await storedFields(connection, 'a'))).toBe(false);
    expect(await executed(connection, 'setrange')).toBe(0);
    expect(await bucket.consumeOrDrain(1e9)).toBe(burst - 4);
  });

  // docs/redis.md: "Every sum of these and a time of at most 2^52 ticks"
  test('goes the long path and back when its debt does', async () => {
    const bucket = create();
    expect(await bucket.acquire(10)).toBe(0);
    // A debt of 2^51 ticks is more than five thousand tokens.
    for (let i = 0; i < 600; i++) await bucket.acquire(10);
    expect(Math.round((await bucket.balance()) / 10)).toBe(-600);
    await bucket.returnTokens(5990);
    expect(Math.round(await bucket.balance())).toBe(-10);
    expect(await bucket.acquire(10)).toBeGreaterThan(1_900_000); // moves the expiry
    const before = await executed(connection, 'setrange');
    await bucket.acquire(10);
    expect(await executed(connection, 'setrange')).toBe(before + 1);
  });

  test('that is full again takes back a reservation, although its key is still there', async () => {
    let nowUs = 1e12;
    const bucket = remote(connection, { rate: 10, burst: 1 }, () => nowUs);
    const reserve = async () => {
      const reserved = await bucket.acquire(1, 0);
      // Or it has expired already, on a busy machine.
      return Number(await connection.send('PEXPIRE', 'a', '600000')) === 1 ? reserved : undefined;
    };
    let reserved = await reserve();
    for (let tries = 1; reserved === undefined && tries < 100; tries++) reserved = await reserve();
    nowUs += 100_000;
    expect(reserved && (await bucket.cancel(reserved))).toBe(true);
    expect(await bucket.balance()).toBe(1);
  });

  test('that is lost is full, and what was promised comes on top of it', async () => {
    const bucket = remote(connection, { rate: 10, burst: 10 }, () => 1e12);
    const waits = () =>
      Promise.all([10, 10, 10].map((n) => bucket.acquire(n, 2e6).then(({ waitUs }) => waitUs)));
    expect(await waits()).toEqual([0, 1e6, 2e6]);
    await connection.send('DEL', 'a');
    expect(await waits()).toEqual([0, 1e6, 2e6]);
  });

  test.each([
    ['format', 0, 1],
    ['format', 0, formatOf(3)],
    ['format', 0, formatOf(0)],
    ['format', 0, formatOf(9)],
    ['check', 0, 0],
    ['lag', 0, Number.NaN],
    ['lag', 0, Number.POSITIVE_INFINITY],
    ['origin', 0, Number.NaN],
    ['seen', 0, Number.NaN],
    ['low', 0, Number.NaN],
    ['low', 0, Number.POSITIVE_INFINITY],
    ['low', 1, Number.NaN],
    ['low', 1, Number.NEGATIVE_INFINITY],
    ['high', 0, Number.NEGATIVE_INFINITY],
    ['perToken', 0, 1],
    ['perMicro', 0, 8192],
    ['perMicro', 1, 8192],
    ['cap', 0, 1],
    ['cap', 0, 2 ** 40],
    ['cap', 0, Number.NaN],
  ] as const)('whose %s (of limit %d) is %d is rejected', async (field, i, value) => {
    const { client } = connection;
    const several = (limits: typeof LIMITS) => RedisLimitSet.create({ client, key: 's', limits });
    const buckets = [several(LIMITS), ...(i === 0 ? [create()] : [])];
    const invalid = { code: 'ERR_KEY_INVALID' };
    for (const bucket of buckets) {
      await bucket.tryConsume();
      await changeFields(connection, bucket.key, { [field]: value }, i);
      await expect(bucket.tryConsume()).rejects.toMatchObject(invalid);
      await expect(bucket.balance()).rejects.toMatchObject(invalid);
    }
    await expect(several(LIMITS.slice(0, 1)).decide()).rejects.toMatchObject(invalid);
    expect(await create(LIMIT, 'b').tryConsume()).toBe(true);
  });

  test('whose text goes on after its limit is rejected at once', async () => {
    await create().tryConsume();
    // No client sends this byte back.
    await connection.send('EVAL', "return redis.call('APPEND', KEYS[1], ' \\255')", '1', 'a');
    const bucket = create();
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_KEY_INVALID' });
    expect(bucket.stats().commands).toBe(1);
  });
});

describe.skipIf(LACKS_REDIS)('several limits on a server', () => {
  const { connection, create } = limitSetScene();

  test('are changed together, for all users of the key', async () => {
    const [here, there] = [create(), create()];
    await Promise.all([here.tryConsume(4), there.tryConsume(0)]);
    await here.reconfigure({ limits: [{}, { burst: 5 }] });
    expect(await there.tryConsume(6)).toBe(false);
    expect(there.limits.map(({ burst }) => burst)).toEqual([10, 5]);
    expect(await connection.send('PTTL', 'a')).toBe(-1);
    await expect(here.reconfigure({ rate: 1 } as never)).rejects.toThrow(/no option "rate"/);
    await expect(here.reconfigure({ limits: [{}] })).rejects.toThrow(/array of 2 limits, got 1/);
    await expect(here.reconfigure({ limits: [{}, { rate: 0 }] })).rejects.toThrow(
      /limits\[1\].rate must be a number/,
    );
    await expect(here.reconfigure({ limit: [] } as never)).rejects.toThrow(/did you mean limits/);
    await here.reconfigure({ limits: [{}, { burst: 25 }] }); // as in the options
    expect(Number(await connection.send('PTTL', 'a'))).toBeGreaterThan(1e6);
  });

  test('in force are those that are stored, however many there are', async () => {
    const [one, two] = [create({ limits: [{ rate: SLOW, burst: 7 }] }), create()];
    expect(await one.tryConsume(3)).toBe(true);
    expect(await two.consumeOrDrain(100)).toBe(4);
    expect([two.limits.length, two.burst]).toEqual([1, 7]);
    const reserved = await one.reserve(1);
    await connection.send('DEL', 'a');
    expect(await two.tryConsume(3)).toBe(true);
    expect(await reserved?.cancel()).toBe(false);
    expect(await one.consumeOrDrain(100)).toBe(7);
    expect([one.limits.length, one.burst]).toEqual([2, 10]);
    const { client } = connection;
    const single = RedisTokenBucket.create({ client, key: 'a', rate: SLOW, burst: 7 });
    await expect(single.reconfigure({ rate: 1 })).rejects.toThrow(/with a RedisLimitSet/);
    expect((await one.decide()).limits).toHaveLength(2);
  });

  test('are changed as those in force, whatever the caller knew of them', async () => {
    const three = create({ limits: [...LIMITS, { rate: SLOW, burst: 9 }] });
    await three.tryConsume();
    const late = create();
    await late.reconfigure({ limits: [{}, {}, { burst: 4 }] });
    expect(late.limits.map(({ burst }) => burst)).toEqual([...LIMITS.map((l) => l.burst), 4]);
    await expect(create().reconfigure({ limits: [{}, {}] })).rejects.toThrow(
      /array of 3 limits, got 2/,
    );
  });

  test('are stored in place, and expire when all of them are full again', async () => {
    const limits = [
      { rate: 100, burst: 100 },
      { rate: 1, burst: 1000 },
    ];
    const bucket = create({ limits });
    for (let i = 0; i < 60; i++) await bucket.tryConsume();
    expect(await executed(connection, 'setrange')).toBeGreaterThan(40);
    expect(await executed(connection, 'set')).toBeLessThan(20);
    const ttlMs = Number(await connection.send('PTTL', 'a'));
    expect(ttlMs).toBeGreaterThan(30_000);
    expect(ttlMs).toBeLessThanOrEqual(120_001);
    await connection.send('DEL', 'a');
    expect((await bucket.decide(0)).limits?.map(({ remaining }) => remaining)).toEqual([100, 1000]);
    expect(await connection.send('EXISTS', 'a')).toBe(0);
    await bucket.returnTokens(3);
    expect(await connection.send('EXISTS', 'a')).toBe(0);
  });

  test('whose number is not that of their texts are rejected', async () => {
    await create().tryConsume();
    const withoutLast =
      "return redis.call('SET', KEYS[1], redis.call('GET', KEYS[1]):match('(.+);'))";
    await connection.send('EVAL', withoutLast, '1', 'a');
    await expect(create().tryConsume()).rejects.toMatchObject({ code: 'ERR_KEY_INVALID' });
  });

  test('whose texts are no limits are rejected', async () => {
    const bucket = create();
    await bucket.tryConsume();
    const firstLetter = 8 * (FIELDS.length + 2 * LIMIT_FIELDS.length);
    await connection.send('SETRANGE', 'a', String(firstLetter), 'x');
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_KEY_INVALID' });
  });
});
