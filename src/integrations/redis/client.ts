import { shown } from '../../options.ts';
import { checkPeer } from '../../peers.ts';
import { SCRIPT, SCRIPT_SHA } from './script/source.ts';

/** Number of slots in a cluster. */
const SLOTS = 16_384;
/** CRC16/XMODEM, as required by the cluster specification. */
const POLYNOMIAL = 0x1021;

const encoder = /* @__PURE__ */ new TextEncoder();

/** The hashed part of a key: the part in braces, if any. */
function hashed(key: string): string {
  const start = key.indexOf('{');
  if (start === -1) return key;
  const end = key.indexOf('}', start + 1);
  return end > start + 1 ? key.slice(start + 1, end) : key;
}

/** The slot of a key in a Redis cluster. */
export function clusterSlot(key: string): number {
  let crc = 0;
  for (const byte of encoder.encode(hashed(key))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? ((crc << 1) ^ POLYNOMIAL) & 0xffff : crc << 1;
    }
  }
  return crc % SLOTS;
}

/** A client of `redis`: `createClient`, `createClientPool`, `createCluster` or `createSentinel`. */
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
  /**
   * Runs the script on a key: by SHA-1, which fails if the server has not cached it, or in full, after
   * which it has.
   */
  run(key: string, words: readonly string[], isInFull: boolean): Promise<unknown>;
  /** The name of the node that gets the commands for a key. */
  nodeOf(key: string): string;
  /** Calls the listener whenever a connection is ready for commands. */
  onReady(listener: () => void): void;
  /** Calls the listener with each error of a connection. */
  onError(listener: (error: unknown) => void): void;
}

function isNodeRedis(client: RedisClient): client is NodeRedisClient {
  return 'evalSha' in client && typeof client.evalSha === 'function';
}

function isIoRedis(client: RedisClient): client is IoRedisClient {
  return 'evalsha' in client && typeof client.evalsha === 'function';
}

/** Whether a command failed because the server has not cached the script. */
export function isNotCached(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
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

/** Errors of a client, and of the nodes of ioredis's and redis's clusters and of redis's Sentinel. */
const ERRORS = ['error', 'node error', 'node-error', 'client-error'] as const;

/** Both packages emit more than the events that the types above require. */
interface Events {
  on(event: string, listener: (about: { readonly error?: unknown }) => void): unknown;
}

function runner(client: RedisClient): ServerClient['run'] | undefined {
  if (isNodeRedis(client)) {
    return (key, words, isInFull) => {
      const options = { keys: [key], arguments: [...words] };
      return isInFull ? client.eval(SCRIPT, options) : client.evalSha(SCRIPT_SHA, options);
    };
  }
  if (!isIoRedis(client)) return undefined;
  return (key, words, isInFull) =>
    isInFull ? client.eval(SCRIPT, 1, key, ...words) : client.evalsha(SCRIPT_SHA, 1, key, ...words);
}

/**
 * @throws TypeError if `client` is neither a redis nor an ioredis client, RateLimitError
 *   `ERR_PEER_VERSION` if its package is too old.
 */
export function serverClient(client: RedisClient): ServerClient {
  const isObject = typeof client === 'object' && client !== null;
  // redis 3 has the methods of ioredis, but they return no promises.
  const run = isObject && !('internal_send_command' in client) ? runner(client) : undefined;
  if (run === undefined) {
    checkPeer('zerotime/redis', 'redis');
    throw new TypeError(`client must be a redis or ioredis client, got ${shown(client)}`);
  }
  if (isIoRedis(client)) checkPeer('zerotime/redis', 'ioredis');
  const events = client as Events;
  return {
    run,
    nodeOf: (key) => nodeOf(client, key),
    onReady: (listener) => events.on('ready', listener),
    onError: (listener) => {
      for (const event of ERRORS) events.on(event, (about) => listener(about?.error ?? about));
    },
  };
}
