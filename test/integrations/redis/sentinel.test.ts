import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { expect, onTestFinished, test } from 'vitest';
import type { RedisClient } from '../../../src/integrations/redis.ts';
import { serverOfTest } from './connections.ts';
import { LIMIT, SaturatedKeys } from './saturated-keys.ts';
import { LACKS_REDIS } from './server.ts';
import { tell } from './server-cluster.ts';

const NAME = 'primary';
const HOST = '127.0.0.1';

/** A client that asks the sentinel which server is the primary, from each package. */
async function clients(port: number): Promise<[string, RedisClient][]> {
  const io = new Redis({ sentinels: [{ host: HOST, port }], name: NAME, lazyConnect: true });
  io.on('error', () => undefined);
  const node = createSentinel({ name: NAME, sentinelRootNodes: [{ host: HOST, port }] });
  node.on('error', () => undefined);
  onTestFinished(async () => {
    io.disconnect();
    await node.destroy();
  });
  await Promise.all([io.connect(), node.connect()]);
  return [
    ['ioredis', io],
    ['redis', node as unknown as RedisClient],
  ];
}

// docs/redis.md: "Replication is asynchronous"
test.skipIf(LACKS_REDIS)('a failover by Sentinel holds each limit, and is over soon', async () => {
  const primary = await serverOfTest();
  const replica = await serverOfTest({ args: ['--replicaof', `${HOST} ${primary.port}`] });
  await tell(replica, async (send) => {
    const isLinked = async () =>
      String(await send('INFO', 'replication')).includes('master_link_status:up');
    while (!(await isLinked())) await delay(10);
  });
  const sentinel = await serverOfTest({
    sentinel: [
      `sentinel monitor ${NAME} ${HOST} ${primary.port} 1`,
      `sentinel down-after-milliseconds ${NAME} 500`,
      `sentinel failover-timeout ${NAME} 2000`,
    ],
  });
  await tell(sentinel, async (send) => {
    // It learns of the replica from the primary.
    while (!String(await send('SENTINEL', 'REPLICAS', NAME)).includes(`${replica.port}`)) {
      await delay(20);
    }
  });

  const loads = (await clients(sentinel.port)).map(
    ([name, client]) => new SaturatedKeys(client, name, 4),
  );
  const unserved = async () => (await Promise.all(loads.map((load) => load.unserved()))).flat();
  expect(await unserved()).toEqual([]);
  await primary.kill();
  expect(await unserved(), 'after the failover').toEqual([]);
  for (const load of loads) {
    // A second burst, because the replica may lack the latest writes.
    expect(await load.end()).toBeLessThanOrEqual(2 * LIMIT.burst + 1);
  }
});
