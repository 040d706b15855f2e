import { expect } from 'vitest';
import type { TokenBucket } from '../../../src/index.ts';
import { RedisTokenBucket, type RedisTokenBucketOptions } from '../../../src/integrations/redis.ts';
import type { PackageName } from './connections.ts';
import { connectionOfTest } from './suite-server.ts';

/** So slow that no token arrives during a test. */
export const SLOW = 1e-3;

/** Two connections to a server, and the buckets that two processes create on them for one key. */
export function usersOfKey(server: Parameters<typeof connectionOfTest>[0], name: PackageName) {
  const connection = connectionOfTest(server, name);
  const other = connectionOfTest(server, name);
  const create = (
    options: Partial<RedisTokenBucketOptions> = {},
    { client } = connection,
  ): RedisTokenBucket =>
    RedisTokenBucket.create({ client, key: 'a', rate: SLOW, burst: 10, ...options });
  return { connection, other, create };
}

/** A full bucket cancels reservations of nothing until tokens are taken. */
export async function expectFreePromises(bucket: RedisTokenBucket | TokenBucket): Promise<void> {
  // The server stores nothing as long as the bucket is full.
  const [first, second] = [await bucket.reserve(0), await bucket.reserve(0)];
  expect(await first?.cancel()).toBe(true);
  expect(await bucket.tryConsume()).toBe(true);
  expect(await second?.cancel()).toBe(false);
  const third = await bucket.reserve(0);
  expect(await third?.cancel()).toBe(true);
}
