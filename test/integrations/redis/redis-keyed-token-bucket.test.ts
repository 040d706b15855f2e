import { describe, expect, test } from 'vitest';
import {
  RedisKeyedTokenBucket,
  type RedisKeyedTokenBucketOptions,
} from '../../../src/integrations/redis.ts';
import { CONNECT, connectionOfTest, serverOfSuite } from './connections.ts';
import { LACKS_REDIS, RedisServer } from './server.ts';

/** So slow that no token arrives during a test. */
const SLOW = 1e-3;

describe.skipIf(LACKS_REDIS)('buckets of keys on a server', () => {
  const server = serverOfSuite();
  const connection = connectionOfTest(server);

  const create = (options: Partial<RedisKeyedTokenBucketOptions> = {}) => {
    const { client } = connection;
    const good = { client, prefix: 'users', rate: SLOW, burst: 3, timeoutMs: 60_000 };
    return RedisKeyedTokenBucket.create({ ...good, ...options });
  };

  test('counts waiting callers for each key', async () => {
    const perKey = create({ burst: 1 });
    await Promise.all(['ann', 'bob'].map((key) => perKey.wait(key)));
    const end = new AbortController();
    const options = { maxWaiting: 1, signal: end.signal };
    const waits = ['ann', 'bob'].map((key) => perKey.wait(key, 1, options));
    await expect(perKey.wait('ann', 1, { maxWaiting: 1 })).rejects.toMatchObject({
      code: 'ERR_QUEUE_FULL',
    });
    expect([perKey.waiting, perKey.for('ann').waiting, perKey.stats().waiting]).toEqual([2, 1, 2]);
    end.abort('enough');
    for (const wait of waits) await expect(wait).rejects.toBe('enough');
    expect(perKey.waiting).toBe(0);
  });

  test('are separate where a Map would have separate keys', async () => {
    const perKey = create();
    const keys = ['1', 1, 1n, '', 'a', '\ud800', '\ud801', '%d800', '{a}', '%007ba%007d', 0, 'NaN'];
    for (const key of keys) expect(await perKey.consumeOrDrain(key, 10), String(key)).toBe(3);
    for (const key of keys) expect(await perKey.tryConsume(key)).toBe(false);
    expect(await perKey.tryConsume(-0)).toBe(false); // the same key as 0
    expect(await perKey.tryConsume(Number.NaN)).toBe(true);
    expect(await perKey.consumeOrDrain(Number.NaN, 10)).toBe(2);
    expect(await connection.send('DBSIZE')).toBe(keys.length + 1);
    const names = (await connection.send('KEYS', '*')) as string[];
    // A key cannot choose its cluster node.
    for (const name of names) expect(name).toMatch(/^users:[^{}]*$/);
    expect(perKey.stats()).toMatchObject({ admitted: 3 * names.length, unreachable: 0 });
  });

  test('have names of bounded length, and long keys are separate too', async () => {
    const perKey = create();
    const long = 'x'.repeat(5000);
    const keys = [
      `${long}a`,
      `${long}b`,
      `${long}\ud800`,
      `${long}\ud801`,
      `${long}%`,
      `${long}%0025`,
    ];
    const bigints = [1n << 9999n, 1n << 9998n];
    for (const key of [...keys, ...bigints]) {
      expect(await perKey.consumeOrDrain(key, 10)).toBe(3);
      expect(await perKey.tryConsume(key)).toBe(false);
      expect(await perKey.for(key).tryConsume()).toBe(false);
    }
    const names = (await connection.send('KEYS', '*')) as string[];
    expect(names).toHaveLength(8);
    // Nobody can choose the name of another's key.
    const [name = ''] = names.filter((one) => one.startsWith('users:%sha256'));
    expect(await perKey.consumeOrDrain(name.slice('users:'.length), 10)).toBe(3);
    expect(await perKey.consumeOrDrain('x'.repeat(1024), 10)).toBe(3);
    for (const one of names) expect(one).toMatch(/^users:%(bigint:%)?sha256:[0-9a-f]{64}$/);
  });

  test('have all operations of a bucket', async () => {
    const perKey = create({ rate: 1 });
    expect(await perKey.acquire('a', 3)).toBe(0);
    expect((await perKey.decide('a')).allowed).toBe(false);
    const reservation = await perKey.reserve('a', 2);
    expect(await perKey.balance('a')).toBeLessThan(0);
    expect(await reservation?.cancel()).toBe(true);
    await perKey.returnTokens('a', 1);
    expect(await perKey.available('a')).toBeGreaterThanOrEqual(1);
    expect(await perKey.timeUntil('a', 4)).toBe(Number.POSITIVE_INFINITY);
    await perKey.wait('a');
    await perKey.reconfigure('a', { burst: 20 });
    const one = perKey.for('a');
    expect(await one.tryConsume(15)).toBe(false);
    expect(one.burst).toBe(20);
    expect(await perKey.for('b').consumeOrDrain(20)).toBe(3);
  });

  test('remember the limits of the last thousand keys', async () => {
    const perKey = create();
    const other = create();
    await other.reconfigure('a', { burst: 5 });
    expect(await perKey.tryConsume('a')).toBe(true);
    const commands = async () => {
      const before = perKey.stats().commands;
      await perKey.tryConsume('a');
      return perKey.stats().commands - before;
    };
    expect(await commands()).toBe(1);
    await Promise.all(Array.from({ length: 999 }, (_, i) => perKey.tryConsume(i)));
    expect(await commands()).toBe(1);
    await perKey.tryConsume('b');
    expect(await commands()).toBe(2); // the first one says that another limit applies
  });

  test('reject invalid keys', async () => {
    const perKey = create();
    expect(() => perKey.for({} as never)).toThrow(/key must be a string, a number or a bigint/);
    await expect(perKey.tryConsume(undefined as never)).rejects.toThrow(TypeError);
    expect(() => create({ prefix: '' })).toThrow(/prefix must have 1 to 1024 characters/);
    expect(() => create({ localCapacity: 0 })).toThrow(/localCapacity must be an integer/);
  });

  test("admit this process's share of each key's limit while the server is unreachable", async () => {
    const gone = await RedisServer.start();
    const lost = await CONNECT.ioredis(gone.url);
    const perKey = create({
      client: lost.client,
      timeoutMs: 1000,
      burst: 6,
      whenUnreachable: 'local',
      processes: 3,
    });
    expect(await perKey.consumeOrDrain('a', 10)).toBe(6);
    await perKey.reconfigure('c', { burst: 3 });
    await gone.stop();
    expect(await perKey.consumeOrDrain('c', 10)).toBe(1); // of the changed limit
    expect(await perKey.consumeOrDrain('a', 10)).toBe(2);
    expect(await perKey.consumeOrDrain('b', 10)).toBe(2);
    expect(await perKey.tryConsume('a')).toBe(false);
    lost.end();
  });
});
