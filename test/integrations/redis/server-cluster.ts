import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import type { RedisClient } from '../../../src/integrations/redis.ts';
import { CONNECT } from './connections.ts';
import { RedisServer } from './server.ts';

const SLOTS = 16_384;
const HOST = '127.0.0.1';

/** Sends commands to one node, and closes the connection. */
async function tell<T>(
  { url }: RedisServer,
  talk: (send: (...words: string[]) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const { send, end } = await CONNECT.ioredis(url);
  try {
    return await talk(send);
  } finally {
    end();
  }
}

/** A cluster of masters; each has an equal part of the slots. */
export class ServerCluster {
  readonly nodes: readonly RedisServer[];

  private constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
  }

  /** Its nodes go on serving while another one is down. */
  static async start(masters: number, ...args: string[]): Promise<ServerCluster> {
    const nodes = await Promise.all(
      Array.from({ length: masters }, () =>
        RedisServer.start({
          // biome-ignore format: an option and its value on a line
          args: [
            '--cluster-enabled', 'yes',
            '--cluster-announce-ip', HOST,
            '--cluster-require-full-coverage', 'no',
            ...args,
          ],
        }),
      ),
    );
    const cluster = new ServerCluster(nodes);
    await cluster.#join();
    return cluster;
  }

  async #join(): Promise<void> {
    const { length } = this.nodes;
    const [first] = this.nodes;
    for (const [i, node] of this.nodes.entries()) {
      const [from, to] = [i, i + 1].map((part) => Math.floor((part * SLOTS) / length));
      await tell(node, async (send) => {
        await send('CLUSTER', 'ADDSLOTSRANGE', String(from), String(Number(to) - 1));
        await send('CLUSTER', 'MEET', HOST, String(first?.port));
      });
    }
    for (const node of this.nodes) {
      await tell(node, async (send) => {
        const isComplete = (info: string) =>
          info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${SLOTS}`);
        while (!isComplete(String(await send('CLUSTER', 'INFO'))));
      });
    }
  }

  /** The node that a key lies on. */
  async nodeOf(key: string): Promise<RedisServer> {
    const [first] = this.nodes;
    if (first === undefined) throw new Error('a cluster without nodes');
    const slot = Number(await tell(first, (send) => send('CLUSTER', 'KEYSLOT', key)));
    const place = Math.floor(((slot + 0.5) * this.nodes.length) / SLOTS);
    return this.nodes[place] as RedisServer;
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }
}

/** A client for a cluster, from each package. */
export const CONNECT_CLUSTER = {
  redis: async (url: string) => {
    const cluster = createCluster({ rootNodes: [{ url }] });
    cluster.on('error', () => undefined);
    await cluster.connect();
    return { client: cluster as RedisClient, end: () => cluster.destroy() };
  },
  ioredis: async (url: string) => {
    const { hostname, port } = new URL(url);
    const cluster = new Cluster([{ host: hostname, port: Number(port) }], { lazyConnect: true });
    cluster.on('error', () => undefined);
    await cluster.connect();
    return { client: cluster as RedisClient, end: () => cluster.disconnect() };
  },
} as const;
