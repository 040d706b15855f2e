import { shown } from '../../options.ts';
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

/** The user's client. */
export type RedisClient = NodeRedisClient | IoRedisClient;

/** Runs the script on a key by its SHA-1, or in full if the server has not cached it. */
export type RunScript = (key: string, words: readonly string[]) => Promise<unknown>;

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

/** @throws TypeError if `client` is neither a redis nor an ioredis client. */
export function scriptRunner(client: RedisClient): RunScript {
  if (typeof client === 'object' && client !== null) {
    if (isNodeRedis(client)) {
      return (key, words) => {
        const options = { keys: [key], arguments: [...words] };
        return orInFull(
          () => client.evalSha(SCRIPT_SHA, options),
          () => client.eval(SCRIPT, options),
        );
      };
    }
    if (isIoRedis(client)) {
      return (key, words) =>
        orInFull(
          () => client.evalsha(SCRIPT_SHA, 1, key, ...words),
          () => client.eval(SCRIPT, 1, key, ...words),
        );
    }
  }
  throw new TypeError(`client must be one of redis or ioredis, got ${shown(client)}`);
}
