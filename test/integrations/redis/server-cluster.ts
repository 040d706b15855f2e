import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import type { RedisClient } from '../../../src/integrations/redis.ts';
import { CONNECT } from './connections.ts';
import { RedisServer } from './server.ts';

const SLOTS = 16_384;
const HOST = '127.0.0.1';

/** Sends commands to one node, and closes the connection. */
export async function tell<T>(
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
  /** In the order of their masters. */
  readonly replicas: readonly RedisServer[] = [];
  readonly #args: readonly string[];

  private constructor(nodes: readonly RedisServer[], args: readonly string[]) {
    this.nodes = nodes;
    this.#args = args;
  }

  /** Its nodes keep serving while another one is down. */
  static async start(masters: number, ...args: string[]): Promise<ServerCluster> {
    const starting = Array.from({ length: masters }, () => ServerCluster.#node(args));
    const cluster = new ServerCluster(await Promise.all(starting), args);
    await cluster.#join();
    return cluster;
  }

  static #node(args: readonly string[]): Promise<RedisServer> {
    return RedisServer.start({
      // biome-ignore format: an option and its value on a line
      args: [
        '--cluster-enabled', 'yes',
        '--cluster-announce-ip', HOST,
        '--cluster-require-full-coverage', 'no',
        ...args,
      ],
    });
  }

  /** Gives each master a replica. */
  async addReplicas(): Promise<void> {
    const replicas = await Promise.all(this.nodes.map(() => ServerCluster.#node(this.#args)));
    (this.replicas as RedisServer[]).push(...replicas);
    await Promise.all(
      replicas.map(async (replica, i) => {
        const id = await ServerCluster.#id(this.nodes[i] as RedisServer);
        await tell(replica, async (send) => {
          // Met by all, it need not wait until they have heard of it.
          for (const node of this.nodes) await send('CLUSTER', 'MEET', HOST, String(node.port));
          while (!String(await send('CLUSTER', 'NODES')).includes(id)) await delay(10);
          await send('CLUSTER', 'REPLICATE', id);
          while (!String(await send('INFO', 'replication')).includes('master_link_status:up')) {
            await delay(10);
          }
        });
      }),
    );
    // Until every master knows its replica, it would not fail over.
    for (const node of this.nodes) {
      await tell(node, async (send) => {
        const count = async () => String(await send('CLUSTER', 'NODES')).match(/ slave /g)?.length;
        while ((await count()) !== replicas.length) await delay(10);
      });
    }
  }

  static async #id(node: RedisServer): Promise<string> {
    return String(await tell(node, (send) => send('CLUSTER', 'MYID')));
  }

  /** Moves a slot with its keys, as a resharding does: clients are redirected meanwhile. */
  async moveSlot(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    const [source, target] = await Promise.all([ServerCluster.#id(from), ServerCluster.#id(to)]);
    const name = String(slot);
    await tell(to, (send) => send('CLUSTER', 'SETSLOT', name, 'IMPORTING', source));
    await tell(from, async (send) => {
      await send('CLUSTER', 'SETSLOT', name, 'MIGRATING', target);
      const keys = async () => (await send('CLUSTER', 'GETKEYSINSLOT', name, '100')) as string[];
      for (let some = await keys(); some.length > 0; some = await keys()) {
        await send('MIGRATE', HOST, String(to.port), '', '0', '5000', 'KEYS', ...some);
      }
      // New keys of the slot are sent on to the other node.
      await delay(20);
    });
    for (const node of [to, from]) {
      await tell(node, (send) => send('CLUSTER', 'SETSLOT', name, 'NODE', target));
    }
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

  /** The node of a key. */
  async nodeOf(key: string): Promise<RedisServer> {
    const [first] = this.nodes;
    if (first === undefined) throw new Error('a cluster without nodes');
    const slot = Number(await tell(first, (send) => send('CLUSTER', 'KEYSLOT', key)));
    const place = Math.floor(((slot + 0.5) * this.nodes.length) / SLOTS);
    return this.nodes[place] as RedisServer;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.nodes, ...this.replicas].map((node) => node.stop()));
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
