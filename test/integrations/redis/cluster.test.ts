import { setTimeout as delay } from 'node:timers/promises';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import { clusterSlot } from '../../../src/integrations/redis/client.ts';
import { RedisKeyedTokenBucket } from '../../../src/integrations/redis.ts';
import { CONNECT, PACKAGES } from './connections.ts';
import { LIMIT, SaturatedKeys } from './saturated-keys.ts';
import { LACKS_REDIS, type RedisServer } from './server.ts';
import { CONNECT_CLUSTER, ServerCluster, tell } from './server-cluster.ts';

/** Far more than what the test takes. */
const AMPLE = { rate: 1e6, burst: 1e6 };
const TIMEOUT_MS = 300;

let servers: ServerCluster;
beforeAll(async () => {
  // Its nodes agree after seconds, so all tests share one.
  if (!LACKS_REDIS) servers = await ServerCluster.start(3, '--cluster-node-timeout', '60000');
});
afterAll(() => servers?.stop());

test.skipIf(LACKS_REDIS)('a key lies in the slot that the servers name', async () => {
  const { send, end } = await CONNECT.ioredis(servers.nodes[0]?.url ?? '');
  for (const key of ['', 'a', 'user:7', 'x{b}y', 'x{}y', '}x{b', 'x{b', 'é€😀', 'a'.repeat(99)]) {
    expect(clusterSlot(key), key).toBe(Number(await send('CLUSTER', 'KEYSLOT', key)));
  }
  end();
});

describe.skipIf(LACKS_REDIS).each(PACKAGES)('on a cluster of three, with %s', (name) => {
  let connected: Awaited<ReturnType<(typeof CONNECT_CLUSTER)[typeof name]>>;
  beforeEach(async () => {
    connected = await CONNECT_CLUSTER[name](servers.nodes[0]?.url ?? '');
  });
  afterEach(() => connected?.end());

  test('each key finds its slot', async () => {
    const { client } = connected;
    // Longer than a busy machine stalls.
    const options = { client, prefix: name, timeoutMs: 60_000 };
    const perKey = RedisKeyedTokenBucket.create({ ...options, rate: 1e-3, burst: 2 });
    const keys = Array.from({ length: 50 }, (_, i) => `user {${i}}`);
    const taken = await Promise.all(keys.map((key) => perKey.consumeOrDrain(key, 5)));
    expect(taken).toEqual(keys.map(() => 2));
  });

  test.each(['killed', 'hung'])('a node that is %s harms no key of another one', async (how) => {
    const { client } = connected;
    const perKey = RedisKeyedTokenBucket.create({
      client,
      prefix: how,
      timeoutMs: TIMEOUT_MS,
      ...AMPLE,
    });
    const keys = Array.from({ length: 30 }, (_, i) => `${i}`);
    const homes = await Promise.all(keys.map((key) => servers.nodeOf(`${how}:${key}`)));
    const lost = servers.nodes[1] as RedisServer;
    const [theirs, others] = [true, false].map((isLost) =>
      keys.filter((_, i) => (homes[i] === lost) === isLost),
    ) as [string[], string[]];
    expect(Math.min(theirs.length, others.length)).toBeGreaterThan(0);
    const admitted = async (some: readonly string[]) =>
      (await Promise.all(some.map((key) => perKey.tryConsume(key)))).filter(Boolean).length;
    expect(await admitted(keys)).toBe(keys.length);

    if (how === 'killed') await lost.kill();
    else lost.pause();
    try {
      // Right after a failure, when its node is given a rest, and beside calls that fail.
      for (const key of theirs.slice(0, 3)) {
        expect(await perKey.tryConsume(key)).toBe(false);
        const failing = admitted(theirs);
        expect(await admitted(others)).toBe(others.length);
        expect(await failing).toBe(0);
        expect(await admitted(others)).toBe(others.length);
      }
      expect(perKey.stats().unreachable).toBeGreaterThanOrEqual(theirs.length);
    } finally {
      // The other tests need it too.
      if (how === 'killed') await lost.start();
      else lost.resume();
      while ((await admitted(theirs)) < theirs.length) await delay(10);
    }
  });
});

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
