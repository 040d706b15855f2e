export {
  HandleError,
  type HandleErrorCode,
  RateLimitError,
  type RateLimitErrorCode,
} from './errors.ts';
export type { WhenFull } from './kernel/constants.ts';
export type { Key } from './kernel/keyed/hash.ts';
export type { AdaptReadings, CallOutcome } from './limiters/adaptation.ts';
export type { AdaptRule } from './limiters/adaptive-permits.ts';
export { allOf } from './limiters/all-of.ts';
export { attach } from './limiters/attach.ts';
export { Bucket } from './limiters/bucket.ts';
export { BucketCalls, REFUSED } from './limiters/bucket-calls.ts';
export { FixedWindow, type FixedWindowOptions } from './limiters/fixed-window.ts';
export {
  type HeaderOptions,
  type RateLimitHeaders,
  rateLimitHeaders,
} from './limiters/headers.ts';
export { type KeyBucket, KeyedBucket } from './limiters/keyed-bucket.ts';
export type {
  KeyedFixedWindowOptions,
  KeyedWindowChange,
  KeyWindow,
} from './limiters/keyed-fixed-window.ts';
export { KeyedFixedWindow } from './limiters/keyed-fixed-window.ts';
export { KeyedLimitSet, type KeyedLimitSetOptions } from './limiters/keyed-limit-set.ts';
export type { TableOptions, TierOptions } from './limiters/keyed-table.ts';
export {
  type KeyedLimit,
  type KeyedLimitChange,
  KeyedTokenBucket,
  type KeyedTokenBucketOptions,
} from './limiters/keyed-token-bucket.ts';
export { LeakyBucket, type LeakyBucketOptions, type LeakyLimit } from './limiters/leaky-bucket.ts';
export { Lease, type LeaseOptions } from './limiters/lease.ts';
export {
  type BucketLimit,
  type ContinuousLimit,
  type LimitChange,
  type LimitsChange,
  per,
  type QuantumLimit,
  type RateUnit,
  type SeveralLimits,
} from './limiters/limit.ts';
export { LimitSet, type LimitSetOptions } from './limiters/limit-set.ts';
export type { LimitedSemaphore } from './limiters/limited-semaphore.ts';
export type {
  BlockingWaitOptions,
  Grant,
  Limiter,
  Waited,
  WaitOptions,
} from './limiters/limiter.ts';
export type { LimiterHandle, NameOptions, OpenOptions, SharedOptions } from './limiters/opening.ts';
export type { Permit, ReleaseOptions } from './limiters/permit.ts';
export type { RefusedMessage } from './limiters/refused.ts';
export { Region } from './limiters/region.ts';
export type { Reservation } from './limiters/reservation.ts';
export { Semaphore } from './limiters/semaphore.ts';
export type {
  AcquireOptions,
  AdaptivePermits,
  RunOptions,
  SemaphoreOptions,
  WatchedWorker,
} from './limiters/semaphore-options.ts';
export { SlidingLog, type SlidingLogOptions } from './limiters/sliding-log.ts';
export { SlidingWindow, type SlidingWindowOptions } from './limiters/sliding-window.ts';
export { Sometimes, type SometimesOptions } from './limiters/sometimes.ts';
export type { Decision, KeyedStats, LimiterStats, LimitState } from './limiters/state.ts';
export { TokenBucket, type TokenBucketOptions } from './limiters/token-bucket.ts';
export { type WindowChange, WindowLimiter, type WindowOptions } from './limiters/window.ts';
export type { KernelName } from './memory/handle.ts';
export type { RegionHandle } from './memory/region.ts';
export type { RegionOptions, SharedMemory } from './memory/shared-memory.ts';
export type { Clock, ClockHandle, SleepOptions } from './time/clock.ts';
export { ManualClock } from './time/manual-clock.ts';
export { systemClock } from './time/system-clock.ts';
export { TickerClock, type TickerClockOptions } from './time/ticker-clock.ts';
