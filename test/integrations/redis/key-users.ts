import { expect } from 'vitest';
import { systemClock } from '../../../src/index.ts';
import type { RemoteBucket } from '../../../src/integrations/redis/remote-bucket.ts';
import {
  type RedisBucket,
  RedisLimitSet,
  type RedisLimitSetOptions,
  RedisTokenBucket,
  type RedisTokenBucketOptions,
} from '../../../src/integrations/redis.ts';
import { connectionOfTest, type PackageName, serverOfSuite } from './connections.ts';

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

/** A full bucket cancels promises of nothing until tokens are taken, and none of a lost key. */
export async function expectFreePromises(remote: RemoteBucket, lose: () => Promise<unknown>) {
  const take = (n: number) => remote.acquire(n, 0);
  // The server stores nothing as long as the bucket is full.
  const [first, second] = [await take(0), await take(0)];
  expect(await remote.cancel(first)).toBe(true);
  expect(await remote.tryTake(1)).toBe(true);
  expect(await remote.cancel(second)).toBe(false);
  expect(await remote.cancel(await take(0))).toBe(true);
  const taken = await take(2);
  await lose();
  expect(await remote.cancel(taken)).toBe(false);
}

/** Any number of tokens beyond the burst is refused, whatever else is asked for. */
export async function expectNoneBeyondBurst(bucket: RedisBucket): Promise<void> {
  // In ticks that is infinity.
  const n = Number.MAX_VALUE;
  expect(await bucket.tryConsume(n)).toBe(false);
  expect(await Promise.all([bucket.tryConsume(n), bucket.tryConsume()])).toEqual([false, true]);
  expect((await bucket.decide(n)).allowed).toBe(false);
  await expect(bucket.wait(n)).rejects.toMatchObject({ code: 'ERR_EXCEEDS_BURST' });
}

/** A reservation whose instant has passed is not cancelled, as in memory. */
export async function expectNoLateCancels(bucket: RedisBucket): Promise<void> {
  const before = await bucket.balance();
  const atOnce = await bucket.reserve(2);
  await systemClock.sleep((atOnce?.atUs ?? 0) + 1);
  expect(await atOnce?.cancel()).toBe(false);
  expect(await bucket.balance()).toBeCloseTo(before - 2, 1);
  await bucket.returnTokens(2);
  expect(await bucket.balance()).toBeCloseTo(before, 1);
}

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
