import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { BucketLimit } from '../../../src/index.ts';
import { Link } from '../../../src/integrations/redis/link.ts';
import { RemoteBucket } from '../../../src/integrations/redis/remote-bucket.ts';
import type { RedisClient } from '../../../src/integrations/redis.ts';
import { type SeveralLimits, scheduleOf, schedulesOf } from '../../../src/limiters/limit.ts';

/** A client of one of the two packages. */
export interface Connection {
  readonly client: RedisClient;
  /** Sends one command, given as words. */
  send(...words: string[]): Promise<unknown>;
  /** Closes the connection for good. */
  end(): void;
}

async function withRedis(url: string): Promise<Connection> {
  const client = createClient({ url });
  // Until a bucket uses it, which adds its own listener.
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

/** Both packages by name. */
export const CONNECT = { redis: withRedis, ioredis: withIoRedis } as const;
export type PackageName = keyof typeof CONNECT;
export const PACKAGES = Object.keys(CONNECT) as PackageName[];

/** A bucket on the server that uses these times instead of the server's clock. */
export function remote(
  { client }: Connection,
  limit: BucketLimit | SeveralLimits,
  timeUs: () => number,
  key = 'a',
): RemoteBucket {
  const link = Link.of(client);
  const schedules = 'limits' in limit ? schedulesOf(limit.limits) : ([scheduleOf(limit)] as const);
  return new RemoteBucket({ link, key, schedules, timeoutMs: 60_000, timeUs });
}
