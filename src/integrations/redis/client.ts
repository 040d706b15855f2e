import { shown } from '../../options.ts';
import { clusterSlot } from './cluster-slot.ts';
import { SCRIPT, SCRIPT_SHA } from './script.ts';

/** A client of the `redis` package: `createClient`, `createClientPool` or `createCluster`. */
export interface NodeRedisClient {
  /** Runs a cached script by its SHA-1. */
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Runs a script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Reports connection errors. */
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** A client of the `ioredis` package: `Redis` or `Cluster`. */
export interface IoRedisClient {
  /** Runs a cached script by its SHA-1. */
  evalsha(sha: string, keys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script. */
  eval(script: string, keys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Reports connection errors. */
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** A client of either package. */
export type RedisClient = NodeRedisClient | IoRedisClient;

/** The client interface that buckets use. */
export interface ServerClient {
  /** Runs the script on a key, by SHA-1 if the server has cached it. */
  run(key: string, words: readonly string[]): Promise<unknown>;
  /** The name of the node that gets the commands for a key. */
  nodeOf(key: string): string;
  /** Calls the listener whenever a connection is ready for commands. */
  onReady(listener: () => void): void;
}

function isNodeRedis(client: RedisClient): client is NodeRedisClient {
  return 'evalSha' in client && typeof client.evalSha === 'function';
}

function isIoRedis(client: RedisClient): client is IoRedisClient {
  return 'evalsha' in client && typeof client.evalsha === 'function';
}

async function orInFull(
  bySha: () => Promise<unknown>,
  inFull: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await bySha();
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return inFull();
  }
}

/** The parts of cluster clients that tell where a key is stored. */
interface ClusterParts {
  /** By slot: ioredis lists the names of the nodes, the master first; redis has the master. */
  readonly slots?: readonly (readonly string[] | { readonly master?: Master } | undefined)[];
  readonly options?: { readonly keyPrefix?: unknown };
  readonly _keyPrefix?: unknown;
}
interface Master {
  readonly address?: string;
}

/**
 * Without a cluster, there is one node. If the node of a slot is unknown, the slot counts as a
 * node.
 */
function nodeOf(client: RedisClient, key: string): string {
  const { slots, options, _keyPrefix } = client as ClusterParts;
  if (!Array.isArray(slots)) return '';
  const prefix = _keyPrefix ?? options?.keyPrefix ?? '';
  const slot = clusterSlot(`${prefix}${key}`);
  const owner = slots[slot];
  const name = Array.isArray(owner) ? owner[0] : owner?.master?.address;
  return name ?? `slot ${slot}`;
}

function onReady(client: RedisClient, listener: () => void): void {
  // Both packages emit `ready`; the types above only declare the required methods.
  (client as { on(event: string, listener: () => void): unknown }).on('ready', listener);
}

function runner(client: RedisClient): ServerClient['run'] | undefined {
  if (isNodeRedis(client)) {
    return (key, words) => {
      const options = { keys: [key], arguments: [...words] };
      return orInFull(
        () => client.evalSha(SCRIPT_SHA, options),
        () => client.eval(SCRIPT, options),
      );
    };
  }
  if (!isIoRedis(client)) return undefined;
  return (key, words) =>
    orInFull(
      () => client.evalsha(SCRIPT_SHA, 1, key, ...words),
      () => client.eval(SCRIPT, 1, key, ...words),
    );
}

/** @throws TypeError if `client` is neither a redis nor an ioredis client. */
export function serverClient(client: RedisClient): ServerClient {
  const run = typeof client === 'object' && client !== null ? runner(client) : undefined;
  if (run === undefined) {
    throw new TypeError(`client must be a redis or ioredis client, got ${shown(client)}`);
  }
  return {
    run,
    nodeOf: (key) => nodeOf(client, key),
    onReady: (listener) => onReady(client, listener),
  };
}
