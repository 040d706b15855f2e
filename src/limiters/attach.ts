import { readHandle } from '../memory/handle.ts';
import { FixedWindow } from './fixed-window.ts';
import { KeyedTokenBucket } from './keyed-token-bucket.ts';
import { LeakyBucket } from './leaky-bucket.ts';
import type { LimiterHandle } from './opening.ts';
import { SlidingLog } from './sliding-log.ts';
import { SlidingWindow } from './sliding-window.ts';
import { Sometimes } from './sometimes.ts';
import { TokenBucket } from './token-bucket.ts';

/** The class for each kind of handle. */
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
 * Attaches this thread to the limiter behind a handle and returns it as its own class.
 *
 * @example
 * ```ts
 * const limiter = attach(workerData.limiter);
 * ```
 * @throws HandleError if `handle` is not a limiter's handle, or its memory is damaged.
 */
export function attach<Kind extends keyof LimiterOf>(handle: LimiterHandle<Kind>): LimiterOf[Kind];
export function attach(handle: LimiterHandle): LimiterOf[keyof LimiterOf] {
  // Read once: the class must get the values that selected it, even if a getter changes its answer.
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
