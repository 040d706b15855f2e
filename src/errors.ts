/** The values of {@link RateLimitError.code}. */
export type RateLimitErrorCode =
  | 'ERR_EXCEEDS_BURST'
  | 'ERR_RATE_LIMIT_TIMEOUT'
  | 'ERR_REGION_FULL'
  | 'ERR_RECONFIGURE_BUSY'
  | 'ERR_BUCKET_BUSY'
  | 'ERR_STATS_DISABLED'
  | 'ERR_CANNOT_BLOCK'
  | 'ERR_NO_SHARED_MEMORY'
  | 'ERR_NO_WEB_ASSEMBLY'
  | 'ERR_QUEUE_FULL'
  | 'ERR_UNREACHABLE'
  | 'ERR_KEY_INVALID'
  | 'ERR_COMMAND_FAILED'
  | 'ERR_FLEET_CLOSED'
  | 'ERR_THROTTLE_CLOSED'
  | 'ERR_PERMIT_RELEASED'
  | 'ERR_PERMIT_EXPIRED'
  | 'ERR_PEER_VERSION';

/**
 * Thrown when a valid request cannot be granted. `code` has the reason:
 *
 * - `ERR_EXCEEDS_BURST`: the request is larger than the limiter can ever grant at once. Waiting
 *   does not help.
 * - `ERR_RATE_LIMIT_TIMEOUT`: the wait would exceed `timeoutMs`. Thrown as soon as this is known.
 *   Nothing was taken; if the limit of a bucket changed during the wait, its tokens may lapse.
 * - `ERR_REGION_FULL`: the region has no room for another limiter.
 * - `ERR_RECONFIGURE_BUSY`: `reconfigure` of a semaphore whose queue has no room. The number of
 *   permits does not change.
 * - `ERR_BUCKET_BUSY`: a limit set has no free slot: over 60 threads (about 250 for a `KeyedLimitSet`)
 *   are in the middle of a call, or were terminated there. Nothing was taken.
 * - `ERR_STATS_DISABLED`: `stats()` was called on a limiter without keys that was created without
 *   `stats: true`.
 * - `ERR_CANNOT_BLOCK`: `waitSync` or `acquireSync` would block the main thread of a page. Nothing was
 *   taken.
 * - `ERR_NO_SHARED_MEMORY`: the page is not cross-origin isolated, so it has no shared memory.
 * - `ERR_NO_WEB_ASSEMBLY`: the program was bundled with `ZEROTIME_WASM_ONLY`, and WebAssembly cannot
 *   run or was not asked for: see `docs/package.md`.
 * - `ERR_QUEUE_FULL`: `maxWaiting` callers of `wait` already wait, or the queue of a throttled
 *   function or pool holds `maxQueue` calls. Nothing was taken.
 * - `ERR_UNREACHABLE`: the server of `zerotime/redis` did not answer in time, or cannot serve now;
 *   `cause` has the reason. The server may have executed the call, but nothing was admitted.
 * - `ERR_KEY_INVALID`: the key of a `zerotime/redis` bucket holds a value that is not a bucket.
 * - `ERR_COMMAND_FAILED`: the server of `zerotime/redis` rejected the call, for example for a
 *   missing permission; `cause` is its error. Nothing was taken.
 * - `ERR_FLEET_CLOSED`: the fleet bucket of `zerotime/redis` was closed.
 * - `ERR_THROTTLE_CLOSED`: the throttled function or pool was closed before the call could start.
 *   Nothing was taken.
 * - `ERR_PERMIT_RELEASED`: the permit was released before.
 * - `ERR_PERMIT_EXPIRED`: the permit was held longer than `holdMs`, so another caller may hold it
 *   now.
 * - `ERR_PEER_VERSION`: a package that the entry point uses is too old; the message has the version
 *   that it needs, and the one found.
 */
export class RateLimitError extends Error {
  /** Identifies the class where `instanceof` cannot: across threads or copies of the package. */
  override readonly name = 'RateLimitError';
  /** The reason, as listed above. */
  readonly code: RateLimitErrorCode;

  constructor(code: RateLimitErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The values of {@link HandleError.code}. */
export type HandleErrorCode =
  | 'ERR_HANDLE_INVALID'
  | 'ERR_REGION_INVALID'
  | 'ERR_REGION_DAMAGED'
  | 'ERR_NAME_MISMATCH'
  | 'ERR_HOST_UNSUPPORTED'
  | 'ERR_HOST_DENIED'
  | 'ERR_HOST_FULL'
  | 'ERR_HOST_STALE'
  | 'ERR_HOST_BUSY';

/**
 * Thrown when a handle, or the memory it refers to, cannot be used. `code` has the reason:
 *
 * - `ERR_HANDLE_INVALID`: not a handle, or a handle of another kind or version.
 * - `ERR_REGION_INVALID`: the memory is not a region, or the limiter lies outside it; or this thread
 *   has closed its `HostRegion`, which ends waits for permits.
 * - `ERR_REGION_DAMAGED`: the limiter's memory is inconsistent: other code has overwritten it.
 * - `ERR_NAME_MISMATCH`: the name belongs to a limiter of another kind or with other options.
 * - `ERR_HOST_UNSUPPORTED`: `zerotime/host` cannot map files here; the message says what is missing.
 * - `ERR_HOST_DENIED`: the region's file cannot be opened safely: no permission, another owner, a
 *   symbolic link, or not a file.
 * - `ERR_HOST_FULL`: the file system has no room for the region's file.
 * - `ERR_HOST_STALE`: the region was created before the machine's last start, or in another time
 *   namespace, so its clock no longer applies. Remove the file, or see `afterReboot`.
 * - `ERR_HOST_BUSY`: the region has no entry for another process, or another process has spent 10
 *   seconds creating it.
 */
export class HandleError extends Error {
  /** Identifies the class where `instanceof` cannot: across threads or copies of the package. */
  override readonly name = 'HandleError';
  /** The reason, as listed above. */
  readonly code: HandleErrorCode;

  constructor(code: HandleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
