import { LATER, NEVER } from '../../kernel/bucket/kernel.ts';
import { type BucketCalls, REFUSED } from '../../limiters/bucket-calls.ts';
import { type Decision, decisionOf } from '../../limiters/decision.ts';
import { Described, type Description } from '../../limiters/described.ts';
import {
  type BucketLimit,
  type ContinuousLimit,
  changedSchedule,
  type LimitChange,
  type QuantumLimit,
} from '../../limiters/limit.ts';
import type { Waited, WaitOptions } from '../../limiters/limiter.ts';
import {
  checkWait,
  exceeds,
  queueFull,
  timedOut,
  type Wait,
  type WaitCount,
  Waiters,
  waitedSince,
} from '../../limiters/waiting.ts';
import { checkNumber, checkObject, checkSpanMs, checkTokens } from '../../options.ts';
import { sleepOrWake } from '../../time/sleep-or-wake.ts';
import { systemClock } from '../../time/system-clock.ts';
import { Answers } from './answers.ts';
import { isUnreachable } from './link.ts';
import { LocalShare } from './local-share.ts';
import {
  checkName,
  checkRedisOptions,
  type RedisOptions,
  type RedisSettings,
  type WhenUnreachable,
} from './redis-options.ts';
import { RedisReservation } from './redis-reservation.ts';
import { CallCounts, type RedisStats } from './redis-stats.ts';
import { type Acquired, RemoteBucket, type RemoteReceipt } from './remote-bucket.ts';
import type { TokenSource } from './token-source.ts';
import { orAborted } from './waiting.ts';

/** Options of {@link RedisTokenBucket.create}. */
export type RedisTokenBucketOptions = BucketLimit &
  RedisOptions & {
    /**
     * The bucket's key on the server, 1 to 1024 characters. Buckets with the same key share one
     * limit.
     */
    readonly key: string;
  };

/**
 * A token bucket stored on a Redis or Valkey server: one limit for all processes on all machines
 * that use its key. Together they get at most burst + rate * t tokens in any interval of t seconds
 * of the server's clock. Each call is one command.
 *
 * The bucket starts full. If the key does not exist, the options set the limit; if it does, the
 * stored limit applies. The key expires when the bucket is full again, unless `reconfigure` has
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
  readonly #settings: RedisSettings;
  readonly #remote: RemoteBucket;
  readonly #counts: CallCounts;
  readonly #answers: Answers;
  readonly #local: () => BucketCalls;
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
    this.#waiters = waiters;
    this.key = key;
    this.#settings = settings;
    this.#remote = new RemoteBucket({ ...settings, key });
    this.#counts = counts;
    this.#answers = new Answers(settings, counts);
    this.#local = () => local(this.#remote);
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

  /** What calls do while the server does not answer. */
  get whenUnreachable(): WhenUnreachable {
    return this.#settings.whenUnreachable;
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
    const isAdmitted = await this.#answers.ask(
      async () => (await this.#remote.acquire(n, 0)).waitUs === 0,
      { refuse: () => false, local: () => this.#local().tryConsume(n) },
    );
    this.#counts.count(isAdmitted ? n : 0, !isAdmitted);
    return isAdmitted;
  }

  /** Takes as many whole tokens as are available, up to `n`, and resolves with their number. */
  async consumeOrDrain(n: number): Promise<number> {
    checkTokens('n', n);
    const taken = await this.#answers.ask(() => this.#remote.drain(n), {
      refuse: () => 0,
      local: () => this.#local().consumeOrDrain(n),
    });
    this.#counts.count(taken, taken === 0 && n >= 1);
    return taken;
  }

  /**
   * Takes `n` tokens now or none, and reports the state of the bucket. If the server does not
   * answer, `retryAfterMs` of the refusal is the time until it is asked again, and `resetMs` is
   * Infinity.
   */
  async decide(n = 1): Promise<Decision> {
    checkTokens('n', n);
    const decision = await this.#answers.ask(async () => decisionOf(await this.#remote.decide(n)), {
      refuse: () => this.#refusal(),
      local: () => this.#local().decide(n),
    });
    this.#counts.count(decision.allowed ? n : 0, !decision.allowed);
    return decision;
  }

  #refusal(): Decision {
    const retryAfterMs = Math.max(0, this.#settings.link.retryAtUs - systemClock.now()) / 1000;
    const resetMs = Number.POSITIVE_INFINITY;
    return { allowed: false, limit: this.limit, remaining: 0, retryAfterMs, resetMs };
  }

  /**
   * Takes `n` tokens if they will be available within `maxWaitMs`, and resolves with the
   * milliseconds to wait before acting, counted from then; 0 means now. Otherwise takes nothing and
   * resolves with `REFUSED`. Without `maxWaitMs` it borrows.
   */
  async acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): Promise<number> {
    checkTokens('n', n);
    checkSpanMs('maxWaitMs', maxWaitMs);
    const waitMs = await this.#answers.ask(
      async () => {
        const { waitUs } = await this.#remote.acquire(n, maxWaitMs * 1000);
        return waitUs < 0 ? waitUs : waitUs / 1000;
      },
      { refuse: () => REFUSED, local: () => this.#local().acquire(n, maxWaitMs) },
    );
    this.#counts.count(waitMs < 0 ? 0 : n, waitMs < 0);
    if (waitMs === NEVER) throw exceeds(n, this.burst);
    return waitMs;
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
    const reservation = await this.#answers.ask(
      async () => {
        const acquired = await this.#remote.acquire(n, maxWaitMs * 1000);
        if (acquired.waitUs === NEVER) throw exceeds(n, acquired.burst);
        return acquired.waitUs === LATER ? undefined : this.#reservation(acquired);
      },
      {
        refuse: () => undefined,
        local: () => {
          const promised = this.#local().reserve(n, { maxWaitMs });
          if (promised === undefined) return undefined;
          return new RedisReservation(promised.waitMs, promised.atUs, async () =>
            promised.cancel(),
          );
        },
      },
    );
    this.#counts.count(reservation === undefined ? 0 : n, reservation === undefined);
    return reservation;
  }

  #reservation({ waitUs, receipt }: Acquired): RedisReservation {
    const atUs = systemClock.now() + waitUs;
    return new RedisReservation(waitUs / 1000, atUs, () => this.#cancel(receipt));
  }

  #cancel(receipt: RemoteReceipt): Promise<boolean> {
    return this.#remote.cancel(receipt).catch((error: unknown) => {
      if (isUnreachable(error)) return false;
      throw error;
    });
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
    const waiters = this.#waiters;
    if (waiters.count >= wait.maxWaiting) await this.#wait(n, { ...wait, timeoutMs: 0 }, true);
    else {
      waiters.enter();
      try {
        await this.#wait(n, wait, false);
      } finally {
        waiters.leave();
      }
    }
    return waitedSince(systemClock, sinceUs);
  }

  /** The calls of `wait` on this object that are not settled yet. */
  get waiting(): number {
    return this.#waiters.count;
  }

  /** Waits for tokens; if the queue is full, takes only what is available now. */
  async #wait(n: number, { timeoutMs, maxWaiting, signal, strict }: Wait, isFull: boolean) {
    const deadlineUs = systemClock.now() + timeoutMs * 1000;
    const late = () => (isFull ? queueFull(maxWaiting) : timedOut(n, timeoutMs));
    try {
      const acquire = () => {
        const asked = this.#remote.acquire(n, Math.max(0, deadlineUs - systemClock.now()));
        return orAborted(asked, signal, ({ receipt }) => this.#cancel(receipt));
      };
      const acquired = await this.#answers.insist(acquire, deadlineUs, signal);
      if (acquired === undefined) {
        const leftMs = Math.max(0, (deadlineUs - systemClock.now()) / 1000);
        const most = isFull ? 0 : Number.POSITIVE_INFINITY;
        const localWait = { timeoutMs: leftMs, maxWaiting: most, strict };
        await this.#local().wait(n, { ...localWait, ...(signal && { signal }) });
      } else {
        if (acquired.waitUs === NEVER) throw exceeds(n, acquired.burst);
        if (acquired.waitUs === LATER) throw late();
        await this.#sleep(acquired, { strict, signal });
      }
    } catch (error) {
      this.#counts.count(0, true);
      throw error;
    }
    this.#counts.count(n, false);
  }

  async #sleep(
    { waitUs, receipt }: Acquired,
    options: { readonly strict: boolean; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    if (waitUs === 0) return;
    try {
      await sleepOrWake(systemClock, systemClock.now() + waitUs, options);
    } catch (error) {
      // In the background: the caller need not wait for the cancellation.
      this.#cancel(receipt).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Returns tokens that were taken and not used; the bucket never exceeds its burst. If the server
   * does not answer, they are lost.
   */
  async returnTokens(n: number): Promise<void> {
    checkTokens('n', n);
    const lapse = () => undefined;
    await this.#answers.ask(() => this.#remote.returnTokens(n), { refuse: lapse, local: lapse });
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
    return this.#answers.ask(() => this.#remote.balance(), {
      local: () => this.#local().balance(),
    });
  }

  /**
   * Milliseconds until the bucket holds `tokens` if none are taken: 0 if it does now, Infinity if
   * it never will.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not answer, except with `'local'`.
   */
  async timeUntil(tokens: number): Promise<number> {
    checkTokens('tokens', tokens);
    return this.#answers.ask(async () => (await this.#remote.timeUntil(tokens)) / 1000, {
      local: () => this.#local().timeUntil(tokens),
    });
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
    await this.#answers.ask(
      () => this.#remote.reconfigure((now) => changedSchedule(now, limit)),
      {},
    );
  }
}
