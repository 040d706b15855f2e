import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { RedisClient } from '../../../src/integrations/redis.ts';

/** A client of one of the two packages. */
export interface Connection {
  readonly client: RedisClient;
  /** Sends one command, given as its words. */
  send(...words: string[]): Promise<unknown>;
  /** Cuts the connection, for good. */
  end(): void;
}

async function withRedis(url: string): Promise<Connection> {
  const client = createClient({ url });
  // Until it is a bucket's, which listens by itself.
  client.on('error', () => undefined);
  await client.connect();
  return {
    client,
    send: (...words) => client.sendCommand(words),
    end: () => client.destroy(),
  };
}

async function withIoRedis(url: string): Promise<Connection> {
  const client = new Redis(url, { lazyConnect: true });
  client.on('error', () => undefined);
  await client.connect();
  return {
    client,
    send: (word = '', ...words) => client.call(word, ...words),
    end: () => client.disconnect(),
  };
}

/** Both packages, by their names. */
export const CONNECT = { redis: withRedis, ioredis: withIoRedis } as const;
export const PACKAGES = Object.keys(CONNECT) as (keyof typeof CONNECT)[];
