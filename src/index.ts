export {
  HandleError,
  type HandleErrorCode,
  RateLimitError,
  type RateLimitErrorCode,
} from './errors.ts';
export type { LimiterStats } from './kernel/bucket-kernel.ts';
export { attach } from './limiters/attach.ts';
export {
  Bucket,
  type BucketHandle,
  REFUSED,
  type SharedOptions,
  type WaitOptions,
} from './limiters/bucket.ts';
export type { Decision } from './limiters/decision.ts';
export { LeakyBucket, type LeakyBucketOptions, type LeakyLimit } from './limiters/leaky-bucket.ts';
export { per, type RateUnit } from './limiters/per.ts';
export type { Reservation } from './limiters/reservation.ts';
export {
  type ContinuousLimit,
  type QuantumLimit,
  TokenBucket,
  type TokenBucketOptions,
} from './limiters/token-bucket.ts';
export type { LimiterHandle } from './memory/handle.ts';
export {
  Region,
  type RegionHandle,
  type RegionOptions,
  type SharedMemory,
} from './memory/region.ts';
export type { Clock, ClockHandle, SleepOptions } from './time/clock.ts';
export { ManualClock } from './time/manual-clock.ts';
export { systemClock } from './time/system-clock.ts';
