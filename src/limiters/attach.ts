import { HandleError } from '../errors.ts';
import { readHandle } from '../memory/handle.ts';
import { LeakyBucket } from './leaky-bucket.ts';
import type { LimiterHandle } from './opening.ts';
import { TokenBucket } from './token-bucket.ts';

/**
 * Attaches this thread to the limiter of a handle, whichever class it is.
 *
 * @example
 * ```ts
 * const bucket = attach(workerData.bucket); // a TokenBucket
 * ```
 * @throws HandleError for anything that is not a limiter's handle, and for a keyed token bucket's,
 * which `KeyedTokenBucket.attach` of 'zerotime/keyed' takes.
 */
export function attach(handle: LimiterHandle<'token-bucket'>): TokenBucket;
export function attach(handle: LimiterHandle<'leaky-bucket'>): LeakyBucket;
export function attach(
  handle: LimiterHandle<'token-bucket' | 'leaky-bucket'>,
): TokenBucket | LeakyBucket {
  // Reads the kind alone; the class checks the rest.
  switch (readHandle(handle).zerotime) {
    case 'token-bucket':
      return TokenBucket.attach(handle as LimiterHandle<'token-bucket'>);
    case 'leaky-bucket':
      return LeakyBucket.attach(handle as LimiterHandle<'leaky-bucket'>);
    case 'keyed-token-bucket':
      // Its library for hashing keys is no part of the core.
      throw new HandleError(
        'ERR_HANDLE_INVALID',
        "a keyed-token-bucket's handle: give it to KeyedTokenBucket.attach of 'zerotime/keyed'",
      );
  }
}
