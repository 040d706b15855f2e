import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisClient, RedisKeyedTokenBucket } from '../../../src/integrations/redis.ts';
import { CONNECT } from './connections.ts';
import { LACKS_REDIS, RedisServer } from './server.ts';

/** A cluster of one node, which has all slots. */
async function startCluster(): Promise<RedisServer> {
  const server = await RedisServer.start({
    args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
  });
  const node = await CONNECT.redis(server.url);
  await node.send('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  while (!String(await node.send('CLUSTER', 'INFO')).includes('cluster_state:ok'));
  node.end();
  return server;
}

const CLUSTERS = {
  redis: async ({ url }: RedisServer) => {
    const cluster = createCluster({ rootNodes: [{ url }] });
    cluster.on('error', () => undefined);
    await cluster.connect();
    return { client: cluster as RedisClient, end: () => cluster.destroy() };
  },
  ioredis: async ({ port }: RedisServer) => {
    const cluster = new Cluster([{ host: '127.0.0.1', port }], { lazyConnect: true });
    await cluster.connect();
    return { client: cluster as RedisClient, end: () => cluster.disconnect() };
  },
};

describe.skipIf(LACKS_REDIS)('on a cluster', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startCluster();
  });
  afterAll(() => server?.stop());

  test.each(['redis', 'ioredis'] as const)('each key finds its slot, with %s', async (name) => {
    const { client, end } = await CLUSTERS[name](server);
    const perKey = RedisKeyedTokenBucket.create({ client, prefix: name, rate: 1e-3, burst: 2 });
    const keys = Array.from({ length: 50 }, (_, i) => `user {${i}}`);
    const taken = await Promise.all(keys.map((key) => perKey.consumeOrDrain(key, 5)));
    expect(taken).toEqual(keys.map(() => 2));
    end();
  });
});
