import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { CONNECT, type Connection } from './connections.ts';
import { RedisServer } from './server.ts';

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
  name: keyof typeof CONNECT = 'redis',
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
