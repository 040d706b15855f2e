import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from 'vitest';
import type { BucketLimit } from '../../../src/index.ts';
import { Link } from '../../../src/integrations/redis/link.ts';
import { RemoteBucket } from '../../../src/integrations/redis/remote-bucket.ts';
import type { RedisClient } from '../../../src/integrations/redis.ts';
import { type SeveralLimits, scheduleOf, schedulesOf } from '../../../src/limiters/limit.ts';
import { RedisServer, type RedisServerOptions } from './server.ts';

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

/** A server that is stopped after the test. */
export async function serverOfTest(options?: RedisServerOptions): Promise<RedisServer> {
  const server = await RedisServer.start(options);
  onTestFinished(() => server.stop());
  return server;
}

/** A server that runs while the tests of the enclosing suite do. */
export function serverOfSuite(): Pick<RedisServer, 'url'> {
  let server: RedisServer | undefined;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server?.stop());
  return {
    get url() {
      if (server === undefined) throw new Error('the server runs only during the tests');
      return server.url;
    },
  };
}

/** Connects before each test, to a server without keys and counts, and disconnects after it. */
export function connectionOfTest(
  server: Pick<RedisServer, 'url'>,
  name: PackageName = 'redis',
): Connection {
  let connection: Connection | undefined;
  const current = (): Connection => {
    if (connection === undefined) throw new Error('there is a connection only during a test');
    return connection;
  };
  beforeEach(async () => {
    connection = await CONNECT[name](server.url);
    await connection.send('FLUSHALL');
    await connection.send('CONFIG', 'RESETSTAT');
  });
  afterEach(() => {
    connection?.end();
    connection = undefined;
  });
  return {
    get client() {
      return current().client;
    },
    send: (...words) => current().send(...words),
    end: () => current().end(),
  };
}

/** How often the server has executed a command, also within scripts. */
export async function executed({ send }: Connection, command: string): Promise<number> {
  const stats = String(await send('INFO', 'commandstats'));
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}
