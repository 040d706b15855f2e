import { expect, onTestFinished, test } from 'vitest';
import { KeyedTokenBucket } from '../../../src/index.ts';
import { expressRateLimitStore } from '../../../src/integrations/http.ts';
import { RedisKeyedTokenBucket, RedisTokenBucket } from '../../../src/integrations/redis.ts';
import { FRAMEWORKS } from '../../support/frameworks.ts';
import { hostRegion } from '../../support/host.ts';
import { statuses } from '../../support/http-get.ts';
import { CONNECT } from '../redis/connections.ts';
import { LACKS_REDIS, RedisServer } from '../redis/server.ts';

/** Too slow for a token to come. */
const LIMIT = { rate: 1e-3, burst: 2 };

test.skipIf(LACKS_REDIS)(
  'limits on a Redis server hold in each framework, until it is gone',
  async () => {
    const server = await RedisServer.start();
    const connection = await CONNECT.redis(server.url);
    const { client } = connection;
    const shared = { ...LIMIT, client, timeoutMs: 2000, whenUnreachable: 'throw' } as const;
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    try {
      const urls: string[] = [];
      for (const [framework, serve] of Object.entries(FRAMEWORKS)) {
        const perClient = RedisKeyedTokenBucket.create({ ...shared, prefix: framework });
        const url = await serve({ limiter: perClient, onError });
        expect(await statuses(url, 3)).toEqual([200, 200, 429]);
        expect(await perClient.available('127.0.0.1')).toBeLessThan(1);
        const all = RedisTokenBucket.create({ ...shared, key: `all ${framework}` });
        expect(await statuses(await serve({ limiter: all }), 3)).toEqual([200, 200, 429]);
        urls.push(url);
      }
      expect(errors).toEqual([]);
      await server.stop();
      for (const url of urls) expect(await statuses(url, 1)).toEqual([503]);
      const unreachable = expect.objectContaining({ code: 'ERR_UNREACHABLE' });
      expect(errors).toEqual(urls.map(() => unreachable));
    } finally {
      connection.end();
      await server.stop();
    }
  },
);

test.skipIf(LACKS_REDIS)(
  'a long key has its limit on a Redis server, also with fail: open',
  async () => {
    const server = await RedisServer.start();
    onTestFinished(() => server.stop());
    const connection = await CONNECT.redis(server.url);
    onTestFinished(() => connection.end());
    const limiter = RedisKeyedTokenBucket.create({
      ...LIMIT,
      client: connection.client,
      prefix: 'long',
      timeoutMs: 60_000,
      whenUnreachable: 'throw',
    });
    for (const serve of Object.values(FRAMEWORKS)) {
      await limiter.returnTokens('x'.repeat(2000), LIMIT.burst);
      const url = await serve({ limiter, key: () => 'x'.repeat(2000), fail: 'open' });
      expect(await statuses(url, 4)).toEqual([200, 200, 429, 429]);
    }
  },
);

test.each(Object.entries(FRAMEWORKS))('%s keeps a limit of all processes', async (_, serve) => {
  const region = hostRegion({ bytes: 65_536 });
  const open = () => KeyedTokenBucket.open(region, 'clients', { ...LIMIT, capacity: 16 });
  expect(await statuses(await serve({ limiter: open() }), 3)).toEqual([200, 200, 429]);
  expect(await statuses(await serve({ limiter: open() }), 1)).toEqual([429]);
});

test('the counts of a store may be those of all processes of a machine', () => {
  const region = hostRegion({ bytes: 65_536 });
  const stores = [1, 2].map(() => expressRateLimitStore({ region, capacity: 16 }));
  for (const store of stores) store.init({ windowMs: 60_000 });
  expect(stores.map((store) => store.increment('ann').totalHits)).toEqual([1, 2]);
});
