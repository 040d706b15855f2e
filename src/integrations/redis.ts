// Entry point `zerotime/redis`.

export type { RedisStats } from './redis/answers.ts';
export type { IoRedisClient, NodeRedisClient, RedisClient } from './redis/client.ts';
export type { FleetHandle, FleetTermsOptions } from './redis/fleet/cell.ts';
export {
  FleetBucket,
  type FleetBucketOptions,
  type FleetStats,
  type FleetWhenUnreachable,
} from './redis/fleet/fleet-bucket.ts';
export { FleetSpender, type FleetSpenderOptions } from './redis/fleet/spender.ts';
export type { TokenSource, TokenWait } from './redis/fleet/token-source.ts';
export { RedisBucket, RedisReservation } from './redis/redis-bucket.ts';
export {
  RedisKeyedLimitSet,
  type RedisKeyedLimitSetOptions,
  RedisKeyedTokenBucket,
  type RedisKeyedTokenBucketOptions,
} from './redis/redis-keyed-bucket.ts';
export {
  RedisLimitSet,
  type RedisLimitSetOptions,
  RedisTokenBucket,
  type RedisTokenBucketOptions,
} from './redis/redis-limits.ts';
export type {
  KeyOptions,
  PrefixOptions,
  RedisOptions,
  WhenUnreachable,
} from './redis/redis-options.ts';
