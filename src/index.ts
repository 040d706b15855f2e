export {
  HandleError,
  type HandleErrorCode,
  RateLimitError,
  type RateLimitErrorCode,
} from './errors.ts';
export type { LimiterStats } from './kernel/bucket/kernel.ts';
export type { KeyedStats } from './kernel/keyed/host.ts';
export type { Key } from './kernel/keyed/message.ts';
export type { WhenFull } from './kernel/keyed/words.ts';
export { allOf } from './limiters/all-of.ts';
export { attach } from './limiters/attach.ts';
export { Bucket } from './limiters/bucket.ts';
export { BucketCalls, REFUSED } from './limiters/bucket-calls.ts';
export type { Decision } from './limiters/decision.ts';
export { FixedWindow, type FixedWindowOptions } from './limiters/fixed-window.ts';
export {
  type HeaderOptions,
  type RateLimitHeaders,
  rateLimitHeaders,
} from './limiters/headers.ts';
export type { KeyBucket } from './limiters/key-bucket.ts';
export { KeyedTokenBucket, type KeyedTokenBucketOptions } from './limiters/keyed-token-bucket.ts';
export { LeakyBucket, type LeakyBucketOptions, type LeakyLimit } from './limiters/leaky-bucket.ts';
export { Lease, type LeaseOptions } from './limiters/lease.ts';
export type { BucketLimit, ContinuousLimit, LimitChange, QuantumLimit } from './limiters/limit.ts';
export type { Grant, Limiter, WaitOptions } from './limiters/limiter.ts';
export type { LimiterHandle, SharedOptions } from './limiters/opening.ts';
export { per, type RateUnit } from './limiters/per.ts';
export type { Reservation } from './limiters/reservation.ts';
export { SlidingLog, type SlidingLogOptions } from './limiters/sliding-log.ts';
export { SlidingWindow, type SlidingWindowOptions } from './limiters/sliding-window.ts';
export { Sometimes, type SometimesOptions } from './limiters/sometimes.ts';
export { TokenBucket, type TokenBucketOptions } from './limiters/token-bucket.ts';
export { WindowLimiter } from './limiters/window.ts';
export type { KernelName } from './memory/handle.ts';
export {
  Region,
  type RegionHandle,
  type RegionOptions,
  type SharedMemory,
} from './memory/region.ts';
export type { Clock, ClockHandle, SleepOptions } from './time/clock.ts';
export { ManualClock } from './time/manual-clock.ts';
export { systemClock } from './time/system-clock.ts';
export { TickerClock, type TickerClockOptions } from './time/ticker-clock.ts';
