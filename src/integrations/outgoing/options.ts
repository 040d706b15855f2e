import type { Key } from '../../kernel/keyed/hash.ts';
import { checkOptions, type Known } from '../../known-options.ts';
import {
  checkAtOnce,
  checkLimiter,
  isKeyed,
  type Limiter,
  type WaitOptions,
} from '../../limiters/limiter.ts';
import type { Semaphore } from '../../limiters/semaphore.ts';
import { checkWait } from '../../limiters/waiting.ts';
import { checkFlag, checkKey, checkNumber, checkSpanMs, shown } from '../../options.ts';
import { clockOf } from '../../throttle/options.ts';
import type { Clock } from '../../time/clock.ts';

/**
 * The limiter methods that outgoing requests use. All limiters of `zerotime` have them; those of
 * `zerotime/redis` do not.
 */
export interface OutgoingLimiter
  extends Pick<Limiter, 'clock' | 'limit' | 'tryConsume' | 'timeUntil'> {
  /** Waits until `n` tokens are available and takes them. */
  wait(n?: number, options?: WaitOptions): Promise<unknown>;
  /** Takes back tokens of a request that was aborted before it was sent. */
  returnTokens?(n: number): void;
  /** Blocks the limiter for `ms` milliseconds in all threads; false if that is not possible. */
  block?(ms: number): boolean;
}

/** A limiter with limits for each key: `KeyedTokenBucket`, `KeyedLimitSet` or `KeyedFixedWindow`. */
export interface OutgoingKeyedLimiter {
  /** The clock of all keys. */
  readonly clock: Clock;
  /** Returns the limiter of one key. */
  for(key: Key): OutgoingLimiter;
}

/** Options of limits on outgoing requests. */
export interface OutgoingOptions {
  /** Each request takes one token. Other threads and code may share the limiter. */
  readonly limiter?: OutgoingLimiter | OutgoingKeyedLimiter;
  /**
   * Each request holds one permit until the response's body has arrived, failed or been cancelled.
   * Other threads and code may share the semaphore.
   */
  readonly semaphore?: Semaphore;
  /**
   * Maximum wait for a permit and a token in milliseconds, >= 0. A request fails as soon as its
   * wait is certain to take longer. Default Infinity.
   */
  readonly timeoutMs?: number;
  /**
   * Maximum number of this thread's requests that wait: an integer >= 0. A further request fails at
   * once with `ERR_QUEUE_FULL`. Default Infinity.
   */
  readonly maxWaiting?: number;
  /**
   * Start requests within microseconds of the due instant, at the cost of spinning. Default false.
   */
  readonly strict?: boolean;
  /**
   * Whether to catch up after a timer or other work has delayed requests. With `false`, each
   * request counts from its actual start: at most burst + rate * t requests start in any t seconds,
   * over all threads, and lost time is not made up. Combine it with `strict` to lose little.
   * Default true.
   */
  readonly catchUp?: boolean;
  /**
   * How long a response with status 429 but no `Retry-After` pauses the requests of its key, in
   * milliseconds >= 0. Default 1000.
   */
  readonly retryAfterMs?: number;
  /**
   * Maximum pause of a key's requests by any response, in milliseconds from 0 to 1e11. With 0,
   * `Retry-After` and 429 are ignored. Default 3,600,000: an hour.
   */
  readonly maxRetryAfterMs?: number;
}

/** {@link OutgoingOptions}, checked. */
export type Outgoing = OutgoingOptions &
  Required<Omit<OutgoingOptions, 'limiter' | 'semaphore'>> & { readonly clock: Clock };

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

/** @throws TypeError, RangeError for an invalid option. */
export function checkOutgoing<T extends OutgoingOptions>(options: T, known: Known<T>): Outgoing {
  const { limiter, semaphore, retryAfterMs = 1000, catchUp } = checkOptions(options, known);
  const { timeoutMs, maxWaiting, strict, maxRetryAfterMs = 3_600_000 } = options;
  checkAtOnce('limiter', limiter);
  if (limiter !== undefined && !isKeyed(limiter)) {
    checkLimiter(limiter, 'wait', 'tryConsume', 'timeUntil');
  } else if (limiter !== undefined && limiter.clock === undefined) {
    throw new TypeError(`limiter must be a limiter, got ${shown(limiter)}`); // it is on a server
  }
  const clock = clockOf(limiter, semaphore);
  const { signal: _, ...wait } = checkWait({ timeoutMs, maxWaiting, strict } as WaitOptions);
  return {
    ...wait,
    ...(limiter && { limiter }),
    ...(semaphore && { semaphore }),
    clock,
    catchUp: checkFlag('catchUp', catchUp, true),
    retryAfterMs: checkSpanMs('retryAfterMs', retryAfterMs),
    maxRetryAfterMs: checkNumber('maxRetryAfterMs', maxRetryAfterMs, { min: 0, max: 1e11 }),
  };
}

/** Returns the function for a request's key; undefined if all requests share one key. */
export function keyBy<Request>(
  key: unknown,
  limiter: Outgoing['limiter'],
  originOf: (request: Request) => string,
): (request: Request) => Key | undefined {
  if (key === 'origin' || (key === undefined && isKeyed(limiter))) return originOf;
  if (key === undefined) return () => undefined;
  if (typeof key === 'function') return (request) => checkKey(key(request));
  throw new TypeError(`key must be 'origin' or a function, got ${shown(key)}`);
}
