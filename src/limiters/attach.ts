import { readHandle } from '../memory/handle.ts';
import type { CellKind } from '../memory/layout.ts';
import { FixedWindow } from './fixed-window.ts';
import { KeyedFixedWindow } from './keyed-fixed-window.ts';
import { KeyedLimitSet } from './keyed-limit-set.ts';
import { KeyedTokenBucket } from './keyed-token-bucket.ts';
import { LeakyBucket } from './leaky-bucket.ts';
import { LimitSet } from './limit-set.ts';
import type { Limiter } from './limiter.ts';
import type { LimiterHandle } from './opening.ts';
import { Semaphore } from './semaphore.ts';
import { SlidingLog } from './sliding-log.ts';
import { SlidingWindow } from './sliding-window.ts';
import { Sometimes } from './sometimes.ts';
import { TokenBucket } from './token-bucket.ts';

/** The class for each kind of handle. */
const CLASSES = {
  'token-bucket': TokenBucket,
  'leaky-bucket': LeakyBucket,
  'limit-set': LimitSet,
  'fixed-window': FixedWindow,
  'sliding-window': SlidingWindow,
  'sliding-log': SlidingLog,
  'keyed-token-bucket': KeyedTokenBucket,
  'keyed-fixed-window': KeyedFixedWindow,
  'keyed-limit-set': KeyedLimitSet,
  sometimes: Sometimes,
  semaphore: Semaphore,
} satisfies { readonly [Kind in CellKind]: { attach(handle: LimiterHandle<Kind>): unknown } };

/** The class of each kind of limiter. */
export type LimiterOf = { [Kind in CellKind]: (typeof CLASSES)[Kind]['prototype'] };

/** Accepts only arguments of type `any`, such as `workerData`. */
type Untyped<T> = 0 extends 1 & T ? T : never;

/**
 * Attaches this thread to the limiter behind a handle and returns it as its own class. If the type
 * of the handle is `any`, as in `workerData`, the result has the methods that all limiters share;
 * name the kind to get the others: `attach<'keyed-token-bucket'>(handle)`.
 *
 * @example
 * ```ts
 * const limiter = attach(workerData.limiter);
 * ```
 * @throws HandleError if `handle` is not a limiter's handle, or its memory is damaged.
 */
export function attach<Handle>(handle: Untyped<Handle>): Limiter;
export function attach<Kind extends keyof LimiterOf>(handle: LimiterHandle<Kind>): LimiterOf[Kind];
export function attach(handle: LimiterHandle): unknown {
  // Read once: a getter could select one class and then give it the values of another.
  const read = readHandle(handle);
  const opened: { attach(handle: unknown): unknown } = CLASSES[read.zerotime];
  return opened.attach(read);
}
