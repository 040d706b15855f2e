import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { RedisLimitSet, RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { LACKS_REDIS } from './server.ts';
import { connectionOfTest, serverOfSuite } from './suite-server.ts';

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
