import { HandleError } from '../errors.ts';
import { readHandle } from '../memory/handle.ts';
import { FixedWindow } from './fixed-window.ts';
import { LeakyBucket } from './leaky-bucket.ts';
import type { LimiterHandle } from './opening.ts';
import { SlidingLog } from './sliding-log.ts';
import { SlidingWindow } from './sliding-window.ts';
import { Sometimes } from './sometimes.ts';
import { TokenBucket } from './token-bucket.ts';

/** The class of each kind of handle. */
interface LimiterOf {
  'token-bucket': TokenBucket;
  'leaky-bucket': LeakyBucket;
  'fixed-window': FixedWindow;
  'sliding-window': SlidingWindow;
  'sliding-log': SlidingLog;
  sometimes: Sometimes;
}

/**
 * Attaches this thread to the limiter of a handle, whichever class it is.
 *
 * @example
 * ```ts
 * const limiter = attach(workerData.limiter);
 * ```
 * @throws HandleError for anything that is not a limiter's handle, and for a keyed token bucket's,
 * which `KeyedTokenBucket.attach` of 'zerotime/keyed' takes.
 */
export function attach<Kind extends keyof LimiterOf>(handle: LimiterHandle<Kind>): LimiterOf[Kind];
export function attach(handle: LimiterHandle): LimiterOf[keyof LimiterOf] {
  // Reads the kind alone; the class checks the rest.
  switch (readHandle(handle).zerotime) {
    case 'token-bucket':
      return TokenBucket.attach(handle as LimiterHandle<'token-bucket'>);
    case 'leaky-bucket':
      return LeakyBucket.attach(handle as LimiterHandle<'leaky-bucket'>);
    case 'fixed-window':
      return FixedWindow.attach(handle as LimiterHandle<'fixed-window'>);
    case 'sliding-window':
      return SlidingWindow.attach(handle as LimiterHandle<'sliding-window'>);
    case 'sliding-log':
      return SlidingLog.attach(handle as LimiterHandle<'sliding-log'>);
    case 'sometimes':
      return Sometimes.attach(handle as LimiterHandle<'sometimes'>);
    case 'keyed-token-bucket':
      // Its library for hashing keys is no part of the core.
      throw new HandleError(
        'ERR_HANDLE_INVALID',
        "a keyed-token-bucket's handle: give it to KeyedTokenBucket.attach of 'zerotime/keyed'",
      );
  }
}
