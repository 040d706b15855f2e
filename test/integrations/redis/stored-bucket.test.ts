import { describe, expect, test } from 'vitest';
import { RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { remote } from './connections.ts';
import { LACKS_REDIS } from './server.ts';
import { changeFields, isShort, storedFields } from './stored-bucket.ts';
import { connectionOfTest, executed, serverOfSuite } from './suite-server.ts';

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
      const { receipt: reserved } = await bucket.acquire(1, 0);
      // Or it has expired already, on a busy machine.
      return Number(await connection.send('PEXPIRE', 'a', '600000')) === 1 ? reserved : undefined;
    };
    let reserved = await reserve();
    for (let tries = 1; reserved === undefined && tries < 100; tries++) reserved = await reserve();
    nowUs += 100_000;
    expect(reserved && (await bucket.cancel(reserved))).toBe(true);
    expect(await bucket.balance()).toBe(1);
  });

  test.each([
    ['seen', Number.NaN],
    ['low', Number.NaN],
    ['low', Number.POSITIVE_INFINITY],
    ['format', 1],
    ['lag', Number.NaN],
    ['origin', Number.NaN],
    ['cap', 2 ** 40],
    ['cap', Number.NaN],
    ['perToken', 1],
    ['perMicro', 8192],
    ['check', 0],
  ] as const)('whose %s is %s is rejected', async (field, value) => {
    const bucket = create();
    await bucket.tryConsume();
    await changeFields(connection, 'a', { [field]: value });
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_KEY_INVALID' });
    await expect(bucket.balance()).rejects.toMatchObject({ code: 'ERR_KEY_INVALID' });
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
