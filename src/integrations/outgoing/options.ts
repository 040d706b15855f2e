import type { Key } from '../../kernel/keyed/message.ts';
import { checkOptions, type Known } from '../../known-options.ts';
import type { Limiter, WaitOptions } from '../../limiters/limiter.ts';
import type { Semaphore } from '../../limiters/semaphore.ts';
import { checkWait } from '../../limiters/waiting.ts';
import { checkFlag, checkNumber, checkSpanMs, shown } from '../../options.ts';
import type { Clock } from '../../time/clock.ts';

/**
 * The limiter methods that outgoing requests need. Every limiter of `zerotime` has them; those of
 * `zerotime/redis` do not.
 */
export interface OutgoingLimiter
  extends Pick<Limiter, 'clock' | 'limit' | 'tryConsume' | 'timeUntil'> {
  /** Waits until `n` tokens are available, and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<unknown>;
  /** Grants nothing for `ms` milliseconds, over all threads; false if it cannot. */
  block?(ms: number): boolean;
}

/** A limiter with a limit for each key: `KeyedTokenBucket` or `KeyedFixedWindow`. */
export interface OutgoingKeyedLimiter {
  /** The clock, the same one for all keys. */
  readonly clock: Clock;
  /** Returns the limiter of one key. */
  for(key: Key): OutgoingLimiter;
}

/** What limits outgoing requests, and how long they may wait. */
export interface OutgoingOptions {
  /** Each request takes one token from it. Other threads and other code may share it. */
  readonly limiter?: OutgoingLimiter | OutgoingKeyedLimiter;
  /**
   * Each request holds one of its permits until the response's body has arrived, failed or been
   * cancelled. Other threads and other code may share it.
   */
  readonly semaphore?: Semaphore;
  /**
   * Maximum wait for a permit and a token in milliseconds, >= 0: fail as soon as it is certain to
   * take longer. Default Infinity.
   */
  readonly timeoutMs?: number;
  /**
   * Fail at once with `ERR_QUEUE_FULL` if a request would have to wait and this many requests of
   * this thread already do: an integer >= 0. Default Infinity.
   */
  readonly maxWaiting?: number;
  /**
   * Start requests within microseconds of when they are due, at the cost of spinning before that.
   * Default false.
   */
  readonly strict?: boolean;
  /**
   * Whether to make up for requests that start late because a timer or other work delayed them.
   * With `false` each request counts from when it starts, not from when its token was due: in any t
   * seconds at most burst + rate * t requests start, over all threads, and lost time is not made up.
   * Combine it with `strict` to lose little. Default true.
   */
  readonly catchUp?: boolean;
  /**
   * How long a response of status 429 without `Retry-After` holds up the requests of its key, in
   * milliseconds >= 0. Default 1000.
   */
  readonly retryAfterMs?: number;
  /**
   * The longest that any response holds up the requests of its key, in milliseconds from 0 to 1e11.
   * With 0, `Retry-After` and 429 are ignored. Default 3,600,000: an hour.
   */
  readonly maxRetryAfterMs?: number;
}

/** {@link OutgoingOptions}, checked. */
export interface Outgoing {
  readonly limiter: OutgoingLimiter | OutgoingKeyedLimiter | undefined;
  readonly semaphore: Semaphore | undefined;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly maxWaiting: number;
  readonly strict: boolean;
  readonly catchUp: boolean;
  readonly retryAfterMs: number;
  readonly maxRetryAfterMs: number;
}

export const OUTGOING_OPTIONS = {
  limiter: true,
  semaphore: true,
  timeoutMs: true,
  maxWaiting: true,
  strict: true,
  catchUp: true,
  retryAfterMs: true,
  maxRetryAfterMs: true,
} as const satisfies Known<OutgoingOptions>;

export function isKeyed(
  limiter: OutgoingLimiter | OutgoingKeyedLimiter | undefined,
): limiter is OutgoingKeyedLimiter {
  return typeof (limiter as Partial<OutgoingKeyedLimiter> | undefined | null)?.for === 'function';
}

/** @throws TypeError, RangeError for an invalid option, naming it. */
export function checkOutgoing<T extends OutgoingOptions>(options: T, known: Known<T>): Outgoing {
  const { limiter, semaphore, retryAfterMs = 1000, ...others } = checkOptions(options, known);
  const { timeoutMs, maxWaiting, strict, catchUp, maxRetryAfterMs = 3_600_000 } = others;
  const hasCalls = isKeyed(limiter) || typeof limiter?.tryConsume === 'function';
  // The Redis buckets have none: their calls return promises.
  const isLimiter = hasCalls && limiter?.clock !== undefined;
  if (limiter !== undefined && !isLimiter) {
    throw new TypeError(`limiter must be a limiter, got ${shown(limiter)}`);
  }
  if (semaphore !== undefined && typeof semaphore?.tryAcquire !== 'function') {
    throw new TypeError(`semaphore must be a Semaphore, got ${shown(semaphore)}`);
  }
  const clock = limiter?.clock ?? semaphore?.clock;
  if (clock === undefined) throw new TypeError('options must have a limiter or a semaphore');
  const wait = checkWait({
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxWaiting === undefined ? {} : { maxWaiting }),
    ...(strict === undefined ? {} : { strict }),
  });
  return {
    ...wait,
    limiter,
    semaphore,
    clock,
    catchUp: checkFlag('catchUp', catchUp, true),
    retryAfterMs: checkSpanMs('retryAfterMs', retryAfterMs),
    maxRetryAfterMs: checkNumber('maxRetryAfterMs', maxRetryAfterMs, { min: 0, max: 1e11 }),
  };
}

/** Returns a request's key by an option `key`: undefined if all requests have one in common. */
export function keyBy<Request>(
  key: unknown,
  limiter: Outgoing['limiter'],
  originOf: (request: Request) => string,
): (request: Request) => Key | undefined {
  if (key === 'origin' || (key === undefined && isKeyed(limiter))) return originOf;
  if (key === undefined) return () => undefined;
  if (typeof key === 'function') return (request) => key(request);
  throw new TypeError(`key must be 'origin' or a function, got ${shown(key)}`);
}
