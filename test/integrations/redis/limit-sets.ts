import { RedisLimitSet, type RedisLimitSetOptions } from '../../../src/integrations/redis.ts';
import { SLOW } from './key-users.ts';
import { connectionOfTest, serverOfSuite } from './suite-server.ts';

/** Two limits, so slow that no token arrives during a test. */
export const LIMITS = [
  { rate: SLOW, burst: 10 },
  { rate: SLOW / 2, burst: 25 },
];

/** A server, a connection to it, and limit sets on it. */
export function limitSetScene() {
  const server = serverOfSuite();
  const connection = connectionOfTest(server);
  const create = (options: Partial<RedisLimitSetOptions> = {}): RedisLimitSet =>
    RedisLimitSet.create({ client: connection.client, key: 'a', limits: LIMITS, ...options });
  return { server, connection, create };
}
