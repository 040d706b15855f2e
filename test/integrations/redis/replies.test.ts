import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type RateLimitError, systemClock } from '../../../src/index.ts';
import { clusterSlot } from '../../../src/integrations/redis/client.ts';
import { FORMAT, MORE_THAN_BURST } from '../../../src/integrations/redis/script/format.ts';
import { replyError } from '../../../src/integrations/redis/server-error.ts';
import {
  RedisKeyedTokenBucket,
  RedisLimitSet,
  RedisTokenBucket,
  type RedisTokenBucketOptions,
} from '../../../src/integrations/redis.ts';
import { connectionOfTest, PACKAGES, serverOfSuite } from './connections.ts';
import { LACKS_REDIS } from './server.ts';

/** An instant of a server's clock, in microseconds. */
const NOW_US = 1_705_509_033_000_000;

/** A bucket whose client answers a command with these replies, one after the other. */
function answered(...replies: (() => unknown)[]) {
  const sent: string[] = [];
  const next = (command: string) => {
    sent.push(command);
    return replies.shift()?.() as Promise<unknown>;
  };
  const client = { evalSha: () => next('evalSha'), eval: () => next('eval'), on: () => undefined };
  const options = { client, key: 'a', rate: 1, burst: 1, whenUnreachable: 'throw' } as const;
  return { bucket: RedisTokenBucket.create(options), sent };
}

const fails = (message: string) => async () => {
  throw new Error(message);
};

describe('a reply', () => {
  test.each([
    ['a number', NOW_US, true],
    ['a negative number', -NOW_US, false],
    ['a text', String(NOW_US), true],
    ['bytes', Buffer.from(String(-NOW_US)), false],
    ['numbers', [0, NOW_US, 1], true],
    ['texts', ['0', String(NOW_US), '0'], false],
    ['bytes in an array', ['0', String(NOW_US), '1'].map((text) => Buffer.from(text)), true],
  ])('of %s says whether the call is admitted', async (_, reply, isAdmitted) => {
    const { bucket } = answered(async () => reply);
    expect(await bucket.tryConsume()).toBe(isAdmitted);
  });

  test.each([
    ['numbers', [NOW_US, NOW_US, 0, 7], true],
    ['texts', [String(-NOW_US), String(NOW_US), '0', '7'], false],
    ['numbers, with a code before them', [0, NOW_US, NOW_US, NOW_US, 0, 7, 1], true],
  ])('of %s holds the state', async (_, reply, allowed) => {
    const { bucket } = answered(async () => reply);
    // The bucket was empty at the instant of the call, and a call that is admitted takes a token.
    const retryAfterMs = allowed ? 0 : 1000;
    const resetMs = allowed ? 2000 : 1000;
    expect(await bucket.decide()).toMatchObject({ allowed, remaining: 0, retryAfterMs, resetMs });
  });

  test.each([['OK'], [''], [0], [null], [undefined], [[]], [['x', 'y']], [Number.NaN]])(
    'of %j rejects the call',
    async (reply) => {
      const { bucket } = answered(async () => reply);
      const failed = { code: 'ERR_COMMAND_FAILED', message: /unexpected answer/ };
      await expect(bucket.tryConsume()).rejects.toMatchObject({ code: failed.code });
      await expect(answered(async () => reply).bucket.decide()).rejects.toThrow(failed.message);
    },
  );

  test.each([
    [[0, NOW_US]],
    [[0, NOW_US, NOW_US, NOW_US]],
    [[0, NOW_US, NOW_US, NOW_US, 0, 7, 'x']],
  ])('of %j, which lacks a result, rejects all calls of the command', async (reply) => {
    const { bucket, sent } = answered(...Array(3).fill(async () => reply));
    const calls = [bucket.tryConsume(), bucket.decide(2), bucket.wait()];
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({ code: 'ERR_COMMAND_FAILED' });
    }
    expect(sent).toEqual(['evalSha']);
    await expect(bucket.consumeOrDrain(1)).rejects.toThrow(/unexpected answer/);
    expect(bucket.stats()).toMatchObject({ admitted: 0, waiting: 0 });
  });

  test('that is missing leaves a wait to the local share, which names the options of the caller', async () => {
    const lost = fails('gone');
    const client = { evalSha: lost, eval: lost, on: () => undefined };
    const local = { whenUnreachable: 'local', processes: 1 } as const;
    const bucket = RedisTokenBucket.create({ client, key: 'a', rate: 0.01, burst: 1, ...local });
    await bucket.wait();
    await expect(bucket.wait(1, { timeoutMs: 500 })).rejects.toThrow(/within timeoutMs = 500$/);
    const end = new AbortController();
    const told = expect(bucket.wait(1, { signal: end.signal })).rejects.toBe('enough');
    await expect(bucket.wait(1, { maxWaiting: 1 })).rejects.toThrow(/maxWaiting is 1$/);
    end.abort('enough');
    await told;
  });

  test('that lacks the script has it sent in full, once', async () => {
    const noScript = fails('NOSCRIPT No matching script.');
    const { bucket, sent } = answered(noScript, async () => NOW_US, noScript, noScript);
    expect(await bucket.tryConsume()).toBe(true);
    expect(sent).toEqual(['evalSha', 'eval']);
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_COMMAND_FAILED' });
    expect(sent).toEqual(['evalSha', 'eval', 'evalSha', 'eval']);
  });

  test('is missing if the client throws', async () => {
    const { bucket } = answered(() => {
      throw new Error('closed');
    });
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_UNREACHABLE' });
    expect(bucket.stats().unreachable).toBe(1);
  });

  test.each(['acquire', 'reserve'] as const)(
    'to %s that it can never succeed ends an outage',
    async (call) => {
      const lost = () => {
        throw new Error('closed');
      };
      const never = async () => [0, NOW_US, NOW_US, NOW_US, 0, 7, MORE_THAN_BURST];
      const { bucket } = answered(lost, never);
      await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_UNREACHABLE' });
      expect(bucket.stats().isReachable).toBe(false);
      // After the pause.
      const laterUs = systemClock.now() + 60e6;
      vi.spyOn(systemClock, 'now').mockImplementation(() => laterUs);
      await expect(bucket[call](2)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
      expect(bucket.stats()).toMatchObject({ isReachable: true, refused: 1, unreachable: 1 });
    },
  );

  test('that is an error ends an outage', async () => {
    const { bucket } = answered(fails('gone'), fails('WRONGTYPE x'), fails('ERR x'), fails('gone'));
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_UNREACHABLE' });
    const laterUs = systemClock.now() + 60e6;
    vi.spyOn(systemClock, 'now').mockImplementation(() => laterUs);
    for (const code of ['ERR_KEY_INVALID', 'ERR_COMMAND_FAILED']) {
      await expect(bucket.tryConsume()).rejects.toMatchObject({ code });
      expect(bucket.stats().isReachable).toBe(true);
    }
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_UNREACHABLE' });
    expect(bucket.stats().isReachable).toBe(false);
  });

  test('from another server ends no outage for the keys that have not moved', async () => {
    const slots: string[][] = Array.from({ length: 16_384 }, () => ['10.0.0.1:6379']);
    const evalsha = async (_: string, __: number, key = '') => {
      if (slots[clusterSlot(key)]?.[0] === '10.0.0.1:6379') throw new Error('gone');
      return NOW_US;
    };
    const client = { evalsha, eval: evalsha, on: () => undefined, slots };
    const perKey = RedisKeyedTokenBucket.create({ client, prefix: 'a', rate: 1, burst: 1 });
    for (const key of ['stays', 'moves']) expect(await perKey.tryConsume(key)).toBe(false);
    slots[clusterSlot('a:moves')] = ['10.0.0.2:6379'];
    expect(await perKey.tryConsume('moves')).toBe(true);
    expect(perKey.stats().isReachable).toBe(false);
    slots[clusterSlot('a:stays')] = ['10.0.0.2:6379'];
    expect(perKey.stats().isReachable).toBe(true);
  });

  test('from the server that has the key now ends the outage of another one', async () => {
    const unreachable: unknown[] = [];
    const slots: string[][] = Array.from({ length: 16_384 }, () => ['10.0.0.1:6379']);
    const replies = [fails('gone'), async () => NOW_US, fails('gone'), fails('gone')];
    const evalsha = () => replies.shift()?.() as Promise<unknown>;
    const client = { evalsha, eval: evalsha, on: () => undefined, slots };
    const onUnreachable = (error: unknown) => void unreachable.push(error);
    const bucket = RedisTokenBucket.create({ client, key: 'a', rate: 1, burst: 1, onUnreachable });
    expect(await bucket.tryConsume()).toBe(false);
    expect(bucket.stats().isReachable).toBe(false);
    slots.fill(['10.0.0.2:6379']);
    expect(await bucket.tryConsume()).toBe(true);
    expect(bucket.stats().isReachable).toBe(true);
    expect(await bucket.tryConsume()).toBe(false);
    expect(bucket.stats().isReachable).toBe(false);
    expect(unreachable).toHaveLength(2);
  });

  test('with a limit that is none rejects the call', async () => {
    const { bucket } = answered(async () => [-2, NOW_US, 'not a limit']);
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_KEY_INVALID' });
  });
});

describe.skipIf(LACKS_REDIS)('a client that reads numbers as texts', () => {
  const server = serverOfSuite();
  connectionOfTest(server); // empties the server

  test('has the same answers', async () => {
    const client = new Redis(server.url, { stringNumbers: true });
    const bucket = RedisTokenBucket.create({ client, key: 'a', rate: 1e-3, burst: 3 });
    const limits = [
      { rate: 1e-3, burst: 3 },
      { rate: 1e-3, burst: 5 },
    ];
    const several = RedisLimitSet.create({ client, key: 'b', limits });
    for (const each of [bucket, several]) {
      expect(await each.tryConsume(2)).toBe(true);
      expect(await each.tryConsume(2)).toBe(false);
      expect(await each.tryConsume(4)).toBe(false);
      expect(await each.tryConsume(0)).toBe(true);
      expect(await Promise.all([each.tryConsume(), each.tryConsume()])).toEqual([true, false]);
      expect(await each.decide()).toMatchObject({ allowed: false, remaining: 0 });
    }
    client.disconnect();
  });
});

const CALLS = 100;

describe.skipIf(LACKS_REDIS).each(PACKAGES)('an error reply, with %s,', (name) => {
  const server = serverOfSuite();
  const connection = connectionOfTest(server, name);
  const admin = connectionOfTest(server, name);
  let told: RateLimitError[];
  beforeEach(() => {
    told = [];
  });
  // The connections are still open: hooks after a test run in reverse.
  afterEach(async () => {
    await admin.send('ACL', 'SETUSER', 'default', 'allkeys', 'allcommands');
    await admin.send('CONFIG', 'SET', 'maxmemory', '0');
  });

  const create = (key: string, options: Partial<RedisTokenBucketOptions> = {}) =>
    RedisTokenBucket.create({
      client: connection.client,
      key,
      rate: 1e6,
      burst: 1e6,
      timeoutMs: 60_000,
      onUnreachable: (error) => told.push(error),
      ...options,
    });

  /** Calls of a key that fails and of a healthy one, all under way at a time. */
  async function sideBySide(failing: RedisTokenBucket, code: string): Promise<void> {
    const healthy = create('healthy');
    expect(await healthy.tryConsume()).toBe(true);
    const calls = Array.from({ length: CALLS }, async (_, i) => {
      if (i % 2 === 0) await expect(failing.tryConsume()).rejects.toMatchObject({ code });
      else expect(await healthy.tryConsume()).toBe(true);
    });
    await Promise.all(calls);
    // Right after an error, too.
    await expect(failing.tryConsume()).rejects.toMatchObject({ code });
    expect(await healthy.tryConsume()).toBe(true);
    expect(healthy.stats()).toMatchObject({ refused: 0, unreachable: 0 });
    expect(told).toEqual([]);
  }

  test('of a denied key fails its calls only', async () => {
    await admin.send('ACL', 'SETUSER', 'default', 'resetkeys', '~healthy');
    await sideBySide(create('denied'), 'ERR_COMMAND_FAILED');
    await expect(create('denied').wait()).rejects.toMatchObject({ code: 'ERR_COMMAND_FAILED' });
  });

  test('of a command denied within the script fails the call', async () => {
    const bucket = create('a');
    await bucket.tryConsume();
    await admin.send('ACL', 'SETUSER', 'default', '-get');
    await expect(bucket.tryConsume()).rejects.toMatchObject({ code: 'ERR_COMMAND_FAILED' });
    await admin.send('ACL', 'SETUSER', 'default', '+get');
    expect(await bucket.tryConsume()).toBe(true);
    expect(told).toEqual([]);
  });

  test.each([
    ['text', ['SET', 'foreign', 'mine']],
    ['a list', ['RPUSH', 'foreign', 'mine']],
    ['a damaged bucket', ['SET', 'foreign', 'zerotime1 x 0 0 0 0 0 0 1 1 0 1 0 1 1']],
    ['the start of a bucket', ['SET', 'foreign', FORMAT]],
    ['a long text', ['SET', 'foreign', 'mine '.repeat(50)]],
  ])('of a key that holds %s fails its calls only, and leaves it unchanged', async (_, command) => {
    await admin.send(...command);
    const before = await admin.send('DUMP', 'foreign');
    const bucket = create('foreign', { whenUnreachable: 'throw' });
    await sideBySide(bucket, 'ERR_KEY_INVALID');
    await expect(bucket.wait()).rejects.toMatchObject({ code: 'ERR_KEY_INVALID' });
    expect(await admin.send('DUMP', 'foreign')).toEqual(before);
  });

  test('of a server without memory refuses the call, and the next one serves again', async () => {
    const bucket = create('a');
    expect(await bucket.tryConsume()).toBe(true);
    await admin.send('CONFIG', 'SET', 'maxmemory', '1');
    expect(await bucket.tryConsume()).toBe(false);
    const refused = await bucket.decide();
    expect(refused).toMatchObject({ allowed: false });
    expect(refused.retryAfterMs).toBeGreaterThan(0);
    expect(told).toHaveLength(1);
    const waiting = bucket.wait();
    await admin.send('CONFIG', 'SET', 'maxmemory', '0');
    expect(await bucket.tryConsume()).toBe(true);
    await waiting;
  });
});

test.each([
  ['NOPERM this user has no permissions', 'ERR_COMMAND_FAILED'],
  ['ERR unknown command', 'ERR_COMMAND_FAILED'],
  ['WRONGTYPE Operation against a key', 'ERR_KEY_INVALID'],
  ['ERR Error running script (call to f_0): @user_script:7: WRONGTYPE x', 'ERR_KEY_INVALID'],
  ['ERR Error running script (call to f_0): @user_script: 7: -READONLY x', 'ERR_UNREACHABLE'],
  ['LOADING Redis is loading the dataset in memory', 'ERR_UNREACHABLE'],
  ['ERR max number of clients reached', 'ERR_UNREACHABLE'],
  ['Connection is closed.', undefined],
  ['A connection was lost', undefined],
])('the reply "%s" means %s', (message, code) => {
  expect(replyError(new Error(message))?.code).toBe(code);
});

test('the error of a socket is no reply', () => {
  const error = Object.assign(new Error('ECONNRESET by peer'), { code: 'ECONNRESET' });
  expect(replyError(error)).toBeUndefined();
  expect(replyError('ERR a text')).toBeUndefined();
});
