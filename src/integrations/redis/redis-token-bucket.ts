import type { BucketCalls } from '../../limiters/bucket-calls.ts';
import type { Decision } from '../../limiters/decision.ts';
import { Described, type Description } from '../../limiters/described.ts';
import {
  type ContinuousLimit,
  changedSchedule,
  type LimitChange,
  type QuantumLimit,
} from '../../limiters/limit.ts';
import type { Waited, WaitOptions } from '../../limiters/limiter.ts';
import { checkWait, type WaitCount, Waiters, waitedSince } from '../../limiters/waiting.ts';
import { checkNumber, checkObject, checkSpanMs, checkTokens } from '../../options.ts';
import { systemClock } from '../../time/system-clock.ts';
import { AnsweredCalls } from './answered-calls.ts';
import { Answers } from './answers.ts';
import { LocalShare } from './local-share.ts';
import {
  checkName,
  checkRedisOptions,
  type RedisSettings,
  type RedisTokenBucketOptions,
  type WhenUnreachable,
} from './redis-options.ts';
import { RedisPromises } from './redis-promises.ts';
import type { RedisReservation } from './redis-reservation.ts';
import { CallCounts, type RedisStats } from './redis-stats.ts';
import { RemoteBucket } from './remote-bucket.ts';
import type { TokenSource } from './token-source.ts';

/**
 * A token bucket stored on a Redis or Valkey server: one limit for all processes on all machines
 * that use its key. Together they get at most burst + rate * t tokens in any interval of t seconds
 * of the server's clock. Calls in the same turn of the event loop share one command.
 *
 * The bucket starts full. If the key does not exist, the options set the limit; if it does, the
 * stored limit applies. The key expires after the bucket is full again, unless `reconfigure` has
 * changed the limit.
 *
 * @example
 * ```ts
 * const bucket = RedisTokenBucket.create({ client, key: 'orders', rate: 100, burst: 10 });
 * if (await bucket.tryConsume()) serve();
 * await bucket.wait(5);
 * ```
 */
export class RedisTokenBucket extends Described implements TokenSource {
  /** The bucket's key on the server. */
  readonly key: string;
  /** What calls do while the server does not answer. */
  readonly whenUnreachable: WhenUnreachable;
  readonly #remote: RemoteBucket;
  readonly #counts: CallCounts;
  readonly #waiters: WaitCount;
  readonly #calls: AnsweredCalls;
  readonly #promises: RedisPromises;

  /** @internal */
  constructor(
    settings: RedisSettings,
    key: string,
    counts: CallCounts,
    local: (remote: RemoteBucket) => BucketCalls,
    waiters: WaitCount,
  ) {
    super();
    const remote = new RemoteBucket({ ...settings, key, onCommand: () => counts.sent() });
    const answers = new Answers(settings, counts, () => remote.node);
    const asked = { remote, answers, counts, local: () => local(remote) };
    this.key = key;
    this.whenUnreachable = settings.whenUnreachable;
    this.#remote = remote;
    this.#counts = counts;
    this.#waiters = waiters;
    this.#calls = new AnsweredCalls(asked);
    this.#promises = new RedisPromises(asked, waiters);
  }

  /**
   * Creates a bucket. Sends nothing yet.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   */
  static create(options: RedisTokenBucketOptions): RedisTokenBucket {
    const settings = checkRedisOptions(options);
    const key = checkName('key', options.key);
    const share = new LocalShare(settings.processes, settings.localBucket);
    const counts = new CallCounts(settings.onUnreachable);
    const local = ({ schedule }: RemoteBucket) => share.of(schedule);
    return new RedisTokenBucket(settings, key, counts, local, new Waiters());
  }

  /** @internal */
  protected describe(): Description {
    const { key, rate, burst } = this;
    return ['RedisTokenBucket', { key, rate, burst }];
  }

  /**
   * The current rate in tokens per second, as last reported by the server; initially the option's.
   */
  get rate(): number {
    return this.#remote.schedule.rate;
  }

  /** The largest number of tokens in the bucket, as last reported by the server. */
  get burst(): number {
    return this.#remote.schedule.burst;
  }

  /** {@link burst}, under the name that all limiters share. */
  get limit(): number {
    return this.burst;
  }

  /** Counts over the calls of this object. */
  stats(): RedisStats {
    return this.#counts.stats(this.waiting);
  }

  /** Takes `n` tokens now and resolves with true, or takes nothing and resolves with false. */
  async tryConsume(n = 1): Promise<boolean> {
    checkTokens('n', n);
    return this.#calls.tryConsume(n);
  }

  /** Takes as many whole tokens as are available, up to `n`, and resolves with their number. */
  async consumeOrDrain(n: number): Promise<number> {
    checkTokens('n', n);
    return this.#calls.drain(n);
  }

  /**
   * Takes `n` tokens now or none, and reports the state of the bucket. If the server does not
   * answer, `retryAfterMs` of the refusal is the time until it is asked again, and `resetMs` is
   * Infinity.
   */
  async decide(n = 1): Promise<Decision> {
    checkTokens('n', n);
    return this.#calls.decide(n);
  }

  /**
   * Takes `n` tokens if they will be available within `maxWaitMs`, and resolves with the
   * milliseconds to wait before acting, counted from then; 0 means now. Otherwise takes nothing and
   * resolves with `REFUSED`. Without `maxWaitMs` it borrows.
   */
  async acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): Promise<number> {
    checkTokens('n', n);
    checkSpanMs('maxWaitMs', maxWaitMs);
    return this.#calls.acquire(n, maxWaitMs);
  }

  /**
   * Reserves `n` tokens that will be available within `maxWaitMs` (default: any time); use them at
   * the reservation's instant. Otherwise takes nothing and resolves with undefined.
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
   * Resolves when `n` tokens are available to this caller, never before. Callers are served in the
   * order in which the server received their calls, and sleep in their own process for the time
   * that the server computed. An abort returns the tokens unless a later call depends on them.
   *
   * The timeout covers the wait for tokens. The server's answers, each up to the bucket's
   * `timeoutMs`, come on top.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT`, taking nothing, if the wait would exceed
   * `timeoutMs`; `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens; `ERR_QUEUE_FULL`,
   * taking nothing, if the tokens are not available now and `maxWaiting` callers of this object wait
   * already; `ERR_UNREACHABLE` if the server did not answer in time.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<Waited> {
    checkTokens('n', n);
    const wait = checkWait(options);
    wait.signal?.throwIfAborted();
    const sinceUs = systemClock.now();
    await this.#promises.wait(n, wait);
    return waitedSince(systemClock, sinceUs);
  }

  /** The calls of `wait` on this object that are not settled yet. */
  get waiting(): number {
    return this.#waiters.count;
  }

  /**
   * Returns tokens that were taken and not used; the bucket never exceeds its burst. If the server
   * does not answer, they are lost.
   */
  async returnTokens(n: number): Promise<void> {
    checkTokens('n', n);
    await this.#calls.returnTokens(n);
  }

  /** Tokens that can be taken now, fractions included: {@link balance}, or 0 in debt. */
  async available(): Promise<number> {
    return Math.max(0, await this.balance());
  }

  /**
   * Tokens in the bucket, fractions included: negative in debt, Infinity if unlimited.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not answer, except with `'local'`.
   */
  async balance(): Promise<number> {
    return this.#calls.balance();
  }

  /**
   * Milliseconds until the bucket holds `tokens` if none are taken: 0 if it does now, Infinity if
   * it never will.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not answer, except with `'local'`.
   */
  async timeUntil(tokens: number): Promise<number> {
    checkTokens('tokens', tokens);
    return this.#calls.timeUntil(tokens);
  }

  /**
   * Changes the limit for all users of the key. Each call, anywhere, sees either the old limit or
   * the new one. Tokens and debt are kept, counted in tokens; waiting calls keep their instants.
   * Omitted fields do not change. A limit that differs from the options is stored permanently with
   * the key; if the key is deleted or lost, the limit of the options applies again.
   *
   * @throws RangeError, TypeError for an invalid option, naming it.
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not answer: the limit may or may
   * not have changed.
   */
  async reconfigure(limit: LimitChange): Promise<void> {
    checkObject('limit', limit);
    const { rate = 1 }: Partial<ContinuousLimit & QuantumLimit> = limit;
    checkNumber('rate', rate, { above: 0, orInfinity: true });
    await this.#calls.reconfigure((now) => changedSchedule(now, limit));
  }
}
