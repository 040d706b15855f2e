// Entry point `zerotime/redis`.
export type { IoRedisClient, NodeRedisClient, RedisClient } from './redis/client.ts';
export type { FleetHandle } from './redis/fleet/cell.ts';
export {
  FleetBucket,
  type FleetBucketOptions,
  type FleetStats,
  type FleetWhenUnreachable,
} from './redis/fleet/fleet-bucket.ts';
export { FleetSpender, type FleetSpenderOptions } from './redis/fleet/spender.ts';
export type { FleetTermsOptions } from './redis/fleet/terms.ts';
export type { TokenSource, TokenWait } from './redis/fleet/token-source.ts';
export { RedisBucket } from './redis/redis-bucket.ts';
export {
  RedisKeyedLimitSet,
  type RedisKeyedLimitSetOptions,
} from './redis/redis-keyed-limit-set.ts';
export {
  RedisKeyedTokenBucket,
  type RedisKeyedTokenBucketOptions,
} from './redis/redis-keyed-token-bucket.ts';
export { RedisLimitSet, type RedisLimitSetOptions } from './redis/redis-limit-set.ts';
export type {
  KeyOptions,
  PrefixOptions,
  RedisOptions,
  WhenUnreachable,
} from './redis/redis-options.ts';
export { RedisReservation } from './redis/redis-reservation.ts';
export type { RedisStats } from './redis/redis-stats.ts';
export { RedisTokenBucket, type RedisTokenBucketOptions } from './redis/redis-token-bucket.ts';
