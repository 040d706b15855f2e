import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RateLimitError } from '../../../src/index.ts';
import { FORMAT } from '../../../src/integrations/redis/script/format.ts';
import { replyError } from '../../../src/integrations/redis/server-error.ts';
import { RedisTokenBucket, type RedisTokenBucketOptions } from '../../../src/integrations/redis.ts';
import { PACKAGES } from './connections.ts';
import { LACKS_REDIS } from './server.ts';
import { connectionOfTest, serverOfSuite } from './suite-server.ts';

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
  ])('of a key that holds %s fails its calls only', async (_, command) => {
    await admin.send(...command);
    await sideBySide(create('foreign', { whenUnreachable: 'throw' }), 'ERR_KEY_INVALID');
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
