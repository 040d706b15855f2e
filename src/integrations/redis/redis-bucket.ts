import type { BucketCalls } from '../../limiters/bucket-calls.ts';
import { PROMISES, type Waited, type WaitOptions } from '../../limiters/limiter.ts';
import { type Decision, Described } from '../../limiters/state.ts';
import { checkWait, type WaitCount, waitedSince } from '../../limiters/waiting.ts';
import { checkMade, checkObject, checkSpanMs, checkTokens } from '../../options.ts';
import { systemClock } from '../../time/system-clock.ts';
import { AnsweredCalls } from './answered-calls.ts';
import { Answers } from './answers.ts';
import type { TokenSource } from './fleet/token-source.ts';
import type { RedisSettings, WhenUnreachable } from './redis-options.ts';
import { RedisPromises } from './redis-promises.ts';
import type { RedisReservation } from './redis-reservation.ts';
import type { CallCounts, RedisStats } from './redis-stats.ts';
import { RemoteBucket } from './remote-bucket.ts';

/** The base class of `RedisTokenBucket` and `RedisLimitSet`, on a Redis or Valkey server. */
export abstract class RedisBucket extends Described implements TokenSource {
  /** @internal */
  readonly [PROMISES] = true;
  /** The bucket's key on the server. */
  readonly key: string;
  /** The behaviour of calls while the server does not respond. */
  readonly whenUnreachable: WhenUnreachable;
  /** @internal */
  protected readonly remote: RemoteBucket;
  /** @internal */
  protected readonly calls: AnsweredCalls;
  readonly #counts: CallCounts;
  readonly #promises: RedisPromises;
  readonly #waiters: WaitCount;

  /** @internal */
  constructor(
    settings: RedisSettings,
    key: string,
    counts: CallCounts,
    local: (remote: RemoteBucket) => BucketCalls,
    waiters: WaitCount,
  ) {
    super();
    checkMade(new.target, settings, 'schedules');
    const remote = new RemoteBucket({ ...settings, key, onCommand: () => counts.sent() });
    const answers = new Answers(settings, counts, () => remote.node);
    this.key = key;
    this.whenUnreachable = settings.whenUnreachable;
    const asked = { remote, answers, counts, local: () => local(remote) };
    this.remote = remote;
    this.calls = new AnsweredCalls(asked);
    this.#counts = counts;
    this.#promises = new RedisPromises(asked, waiters);
    this.#waiters = waiters;
  }

  /**
   * The current rate in tokens per second, as last reported by the server; initially the option's.
   * With several limits, the lowest one.
   */
  get rate(): number {
    return this.remote.schedule.rate;
  }

  /** The burst, as last reported by the server; with several limits, the smallest one. */
  get burst(): number {
    return this.remote.schedule.burst;
  }

  /** {@link burst}, under the common name of all limiters. */
  get limit(): number {
    return this.burst;
  }

  /** Counts of this object's calls. */
  stats(): RedisStats {
    return this.#counts.stats(this.waiting);
  }

  /** Unsettled calls of `wait` on this object. */
  get waiting(): number {
    return this.#waiters.count;
  }

  /** Tokens available now, fractions included: {@link balance}, or 0 in debt. */
  async available(): Promise<number> {
    return Math.max(0, await this.balance());
  }

  /**
   * Tokens in the bucket, fractions included: negative in debt, Infinity if unlimited.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not respond, except with `'local'`.
   */
  async balance(): Promise<number> {
    return this.calls.balance();
  }

  /**
   * Milliseconds until the bucket holds `tokens` if none are taken: 0 if it already does, Infinity
   * if it never will.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not respond, except with `'local'`.
   */
  async timeUntil(tokens: number): Promise<number> {
    checkTokens('tokens', tokens);
    return this.calls.timeUntil(tokens);
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
}
