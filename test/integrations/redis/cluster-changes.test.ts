import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { clusterSlot } from '../../../src/integrations/redis/client.ts';
import { PACKAGES } from './connections.ts';
import { LIMIT, SaturatedKeys } from './saturated-keys.ts';
import { LACKS_REDIS, type RedisServer } from './server.ts';
import { CONNECT_CLUSTER, ServerCluster, tell } from './server-cluster.ts';

const KEYS = 9;

test.skipIf(LACKS_REDIS)(
  'a cluster that fails over, is resharded and loses a node holds each limit, and recovers',
  async () => {
    const servers = await ServerCluster.start(3, '--cluster-node-timeout', '2000');
    onTestFinished(() => servers.stop());
    await servers.addReplicas();
    const [first, second, third] = servers.nodes as [RedisServer, RedisServer, RedisServer];
    const loads = await Promise.all(
      PACKAGES.map(async (name) => {
        const { client, end } = await CONNECT_CLUSTER[name](first.url);
        onTestFinished(end);
        return new SaturatedKeys(client, name, KEYS);
      }),
    );
    const unserved = async () => (await Promise.all(loads.map((load) => load.unserved()))).flat();
    expect(await unserved()).toEqual([]);

    // A replica takes over by agreement, with all data.
    const [heir] = servers.replicas as [RedisServer];
    await tell(heir, async (send) => {
      const isMaster = async () =>
        String(await send('INFO', 'replication')).includes('role:master');
      for (let looks = 0; !(await isMaster()); looks++) {
        // Servers that get no processor for long give up a failover.
        if (looks % 600 === 0) await send('CLUSTER', 'FAILOVER');
        await delay(10);
      }
    });
    expect(await unserved(), 'after a failover').toEqual([]);

    const names = loads.flatMap((load) => load.keys.map((key) => load.nameOf(key)));
    let moved = 0;
    for (const name of names) {
      if ((await servers.nodeOf(name)) !== second) continue;
      moved++;
      await servers.moveSlot(clusterSlot(name), second, third);
    }
    expect(moved).toBeGreaterThan(0);
    expect(await unserved(), 'after the move of slots').toEqual([]);

    // Its replica takes over by itself.
    await third.kill();
    expect(await unserved(), 'after the loss of a node').toEqual([]);
    for (const load of loads) {
      // A second burst, because the replica may lack the latest writes.
      expect(await load.end()).toBeLessThanOrEqual(2 * LIMIT.burst + 1);
    }
  },
);
