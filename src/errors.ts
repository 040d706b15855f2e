/** What went wrong, for programs. See {@link RateLimitError.code}. */
export type RateLimitErrorCode =
  | 'ERR_EXCEEDS_BURST'
  | 'ERR_RATE_LIMIT_TIMEOUT'
  | 'ERR_REGION_FULL'
  | 'ERR_RECONFIGURE_BUSY'
  | 'ERR_STATS_DISABLED'
  | 'ERR_QUEUE_FULL'
  | 'ERR_UNREACHABLE'
  | 'ERR_KEY_INVALID'
  | 'ERR_FLEET_CLOSED';

/**
 * A request that a limiter cannot grant, though it was well formed.
 *
 * - `ERR_EXCEEDS_BURST`: more tokens at once than the limiter can ever hold. Waiting is no use.
 * - `ERR_RATE_LIMIT_TIMEOUT`: the wait would outlast `timeoutMs`. Known at once; nothing was taken.
 * - `ERR_REGION_FULL`: the region has no room for another limiter.
 * - `ERR_RECONFIGURE_BUSY`: all configuration records are claimed by other reconfigurations, or by
 *   threads that were terminated in the middle of one. The limit in force stays.
 * - `ERR_STATS_DISABLED`: `stats()` on a limiter that was created without `stats: true`.
 * - `ERR_QUEUE_FULL`: as many tasks wait as `maxQueue` of `zerotime/piscina` allows.
 * - `ERR_UNREACHABLE`: the server of `zerotime/redis` has not answered in time. `cause` says why. The
 *   call may have been carried out there; nothing was admitted for it.
 * - `ERR_KEY_INVALID`: the key of a `zerotime/redis` bucket holds something that is no bucket's.
 * - `ERR_FLEET_CLOSED`: a wait on a fleet bucket of `zerotime/redis` that was closed.
 */
export class RateLimitError extends Error {
  /** Tells the class where `instanceof` can't: from another thread, or another copy of the package. */
  override readonly name = 'RateLimitError';
  /** What went wrong: one of those above. */
  readonly code: RateLimitErrorCode;

  constructor(code: RateLimitErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What is wrong with a handle, for programs. See {@link HandleError.code}. */
export type HandleErrorCode = 'ERR_HANDLE_INVALID' | 'ERR_REGION_INVALID' | 'ERR_REGION_DAMAGED';

/**
 * A handle, or the memory behind it, that cannot be attached to or worked on.
 *
 * - `ERR_HANDLE_INVALID`: not a handle, or one of another kind or version.
 * - `ERR_REGION_INVALID`: its memory is no region, or the limiter does not lie within it.
 * - `ERR_REGION_DAMAGED`: the limiter's words make no sense: something else wrote over them.
 */
export class HandleError extends Error {
  /** Tells the class where `instanceof` can't: from another thread, or another copy of the package. */
  override readonly name = 'HandleError';
  /** What is wrong: one of those above. */
  readonly code: HandleErrorCode;

  constructor(code: HandleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
