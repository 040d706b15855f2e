import { checkOptions } from '../../known-options.ts';
import type { BucketCalls } from '../../limiters/bucket-calls.ts';
import type { Decision } from '../../limiters/decision.ts';
import type { LimitChange } from '../../limiters/limit.ts';
import type { Waited, WaitOptions } from '../../limiters/limiter.ts';
import { changeOf, type LimitsChange, type Schedules } from '../../limiters/several-limits.ts';
import { checkWait, type WaitCount, Waiters, waitedSince } from '../../limiters/waiting.ts';
import { checkObject, checkSpanMs, checkTokens } from '../../options.ts';
import { systemClock } from '../../time/system-clock.ts';
import { LocalShare } from './local-share.ts';
import { RedisBucketState } from './redis-bucket-state.ts';
import {
  BUCKET_OPTIONS,
  CHANGE_OPTIONS,
  checkName,
  checkRates,
  checkRedisOptions,
  type RedisSettings,
  type RedisTokenBucketOptions,
} from './redis-options.ts';
import { RedisPromises } from './redis-promises.ts';
import type { RedisReservation } from './redis-reservation.ts';
import { CallCounts } from './redis-stats.ts';
import type { RemoteBucket } from './remote-bucket.ts';
import type { TokenSource } from './token-source.ts';

/**
 * A token bucket on a Redis or Valkey server: one limit for all processes on all machines that use
 * its key. Together they get at most burst + rate * t tokens in any interval of t seconds of the
 * server's clock. Calls in the same turn of the event loop share one command.
 *
 * The bucket starts full. If the key exists, the stored limit applies, otherwise the limit of the
 * options. The key expires once the bucket is full again, unless `reconfigure` has changed the
 * limit.
 *
 * @example
 * ```ts
 * const bucket = RedisTokenBucket.create({ client, key: 'orders', rate: 100, burst: 10 });
 * if (await bucket.tryConsume()) serve();
 * await bucket.wait(5);
 * ```
 *
 * With `limits`, the bucket has several limits, and one command decides on all of them. A call is
 * admitted only if every limit admits it, and then counts against each; a refused call takes
 * nothing.
 *
 * @example
 * ```ts
 * const bucket = RedisTokenBucket.create({
 *   client,
 *   key: 'search',
 *   limits: [
 *     { rate: 10, burst: 10 },
 *     { rate: per(100, 'minute'), burst: 100 },
 *   ],
 * });
 * const { allowed, limits } = await bucket.decide(); // the state of each limit
 * ```
 */
export class RedisTokenBucket extends RedisBucketState implements TokenSource {
  readonly #promises: RedisPromises;

  /** @internal */
  constructor(
    settings: RedisSettings,
    key: string,
    counts: CallCounts,
    local: (remote: RemoteBucket) => BucketCalls,
    waiters: WaitCount,
  ) {
    super(settings, key, counts, local, waiters);
    this.#promises = new RedisPromises(this.asked, waiters);
  }

  /**
   * Creates a bucket. Does not contact the server yet.
   *
   * @throws RangeError, TypeError for an invalid option.
   */
  static create(options: RedisTokenBucketOptions): RedisTokenBucket {
    const settings = checkRedisOptions(options, BUCKET_OPTIONS);
    const key = checkName('key', options.key);
    const share = new LocalShare(settings.processes, settings.localBucket);
    const counts = new CallCounts(settings.onUnreachable);
    const local = ({ schedules }: RemoteBucket) => share.of(schedules);
    return new RedisTokenBucket(settings, key, counts, local, new Waiters());
  }

  /** Takes `n` tokens now and resolves with true, or takes nothing and resolves with false. */
  tryConsume(n = 1): Promise<boolean> {
    return this.calls.tryConsume(n);
  }

  /** Takes as many whole tokens as are available, up to `n`, and resolves with their number. */
  consumeOrDrain(n: number): Promise<number> {
    return this.calls.drain(n);
  }

  /**
   * Takes `n` tokens now or none, and resolves with the state of the bucket. If the server does not
   * respond, the refusal's `retryAfterMs` is the time until the next attempt, and `resetMs` is
   * Infinity.
   */
  decide(n = 1): Promise<Decision> {
    return this.calls.decide(n);
  }

  /**
   * Takes `n` tokens if they will be available within `maxWaitMs`, and resolves with the
   * milliseconds to wait before acting; 0 means now. Otherwise takes nothing and resolves with
   * `REFUSED`. Without `maxWaitMs`, it borrows.
   */
  acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): Promise<number> {
    return this.calls.acquire(n, maxWaitMs);
  }

  /**
   * Reserves `n` tokens if they will be available within `maxWaitMs` (default: any time). Use them
   * at the reservation's instant. Otherwise takes nothing and resolves with undefined.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  async reserve(
    n = 1,
    options: { readonly maxWaitMs?: number } = {},
  ): Promise<RedisReservation | undefined> {
    checkTokens('n', n);
    const { maxWaitMs = Number.POSITIVE_INFINITY } = checkObject('options', options);
    checkSpanMs('maxWaitMs', maxWaitMs);
    return this.#promises.reserve(n, maxWaitMs);
  }

  /**
   * Resolves when `n` tokens are available to this caller, never earlier. The server serves callers
   * in the order of their calls and computes their waits; they sleep in their own process. An abort
   * returns the tokens unless a later call depends on them.
   *
   * The timeout covers the wait for tokens, not the server's responses, each of which may take up
   * to the bucket's `timeoutMs`.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT`, taking nothing, if the wait would exceed
   *   `timeoutMs`; `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens; `ERR_QUEUE_FULL`,
   *   taking nothing, if the tokens are not available now and `maxWaiting` callers of this object
   *   already wait; `ERR_UNREACHABLE` if the server did not respond in time.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    checkTokens('n', n);
    const wait = checkWait(options);
    wait.signal?.throwIfAborted();
    const sinceUs = systemClock.now();
    await this.#promises.wait(n, wait);
    return waitedSince(systemClock, sinceUs);
  }

  /**
   * Returns unused tokens; the bucket never exceeds its burst. If the server does not respond, they
   * are lost.
   */
  returnTokens(n: number): Promise<void> {
    return this.calls.returnTokens(n);
  }

  /**
   * Changes the limit for all users of the key, atomically. Tokens and debt are kept, counted in
   * tokens; waiting calls keep their instants. Omitted fields do not change. A limit that differs
   * from the options is stored permanently with the key; if the key is deleted or lost, the limit
   * of the options applies again.
   *
   * With several limits, pass one change for each: `{ limits: [{}, { rate: 5 }] }`. All of them
   * change at the same instant.
   *
   * @throws RangeError, TypeError for an invalid option.
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not respond: the limit may or may
   *   not have changed.
   */
  async reconfigure(limit: LimitChange | LimitsChange): Promise<void> {
    checkOptions(limit, CHANGE_OPTIONS, 'limit');
    await this.calls.reconfigure((now) => {
      const next = changeOf(now.length, limit)(now);
      return checkRates(next as unknown as Schedules); // the same number as before
    });
  }
}
