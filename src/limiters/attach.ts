import { readHandle } from '../memory/handle.ts';
import { FixedWindow } from './fixed-window.ts';
import { KeyedTokenBucket } from './keyed-token-bucket.ts';
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
  'keyed-token-bucket': KeyedTokenBucket;
  sometimes: Sometimes;
}

/**
 * Attaches this thread to the limiter of a handle, whichever class it is.
 *
 * @example
 * ```ts
 * const limiter = attach(workerData.limiter);
 * ```
 * @throws HandleError for anything that is not a limiter's handle.
 */
export function attach<Kind extends keyof LimiterOf>(handle: LimiterHandle<Kind>): LimiterOf[Kind];
export function attach(handle: LimiterHandle): LimiterOf[keyof LimiterOf] {
  // A copy: what chose the class is what the class gets, even if a getter would answer differently.
  const read = readHandle(handle);
  switch (read.zerotime) {
    case 'token-bucket':
      return TokenBucket.attach(read as LimiterHandle<'token-bucket'>);
    case 'leaky-bucket':
      return LeakyBucket.attach(read as LimiterHandle<'leaky-bucket'>);
    case 'fixed-window':
      return FixedWindow.attach(read as LimiterHandle<'fixed-window'>);
    case 'sliding-window':
      return SlidingWindow.attach(read as LimiterHandle<'sliding-window'>);
    case 'sliding-log':
      return SlidingLog.attach(read as LimiterHandle<'sliding-log'>);
    case 'sometimes':
      return Sometimes.attach(read as LimiterHandle<'sometimes'>);
    case 'keyed-token-bucket':
      return KeyedTokenBucket.attach(read as LimiterHandle<'keyed-token-bucket'>);
  }
}
