import { LATER, NEVER } from '../../kernel/bucket/kernel.ts';
import { type BucketCalls, REFUSED } from '../../limiters/bucket-calls.ts';
import { type Decision, decisionOf } from '../../limiters/decision.ts';
import { type BucketLimit, changedSchedule, type LimitChange } from '../../limiters/limit.ts';
import type { WaitOptions } from '../../limiters/limiter.ts';
import { checkWait, exceeds, timedOut } from '../../limiters/waiting.ts';
import { checkObject, checkSpanMs, checkTokens } from '../../options.ts';
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
    /** The key of the bucket on the server, 1 to 1024 characters. All who name it share the bucket. */
    readonly key: string;
  };

/**
 * A token bucket that lies on a Redis or Valkey server: one limit over all processes, on all machines,
 * that name its key. In any interval of t seconds of the server's clock at most burst + rate * t
 * tokens are admitted, over all of them together. Each call is one command.
 *
 * It starts full. The limit of the options makes the bucket where the key does not exist; where it does,
 * the limit that is stored there is in force. A bucket that is full again is the same as none, so its key
 * expires, unless `reconfigure` has changed the limit.
 *
 * @example
 * ```ts
 * const bucket = RedisTokenBucket.create({ client, key: 'orders', rate: 100, burst: 10 });
 * if (await bucket.tryConsume()) serve();
 * await bucket.wait(5);
 * ```
 */
export class RedisTokenBucket implements TokenSource {
  /** The key of the bucket on the server. */
  readonly key: string;
  readonly #settings: RedisSettings;
  readonly #remote: RemoteBucket;
  readonly #counts: CallCounts;
  readonly #answers: Answers;
  readonly #local: () => BucketCalls;

  /** @internal */
  constructor(
    settings: RedisSettings,
    key: string,
    counts: CallCounts,
    local: (remote: RemoteBucket) => BucketCalls,
  ) {
    this.key = key;
    this.#settings = settings;
    this.#remote = new RemoteBucket({ ...settings, key });
    this.#counts = counts;
    this.#answers = new Answers(settings, counts);
    this.#local = () => local(this.#remote);
  }

  /**
   * Makes a bucket; nothing is sent yet.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
   */
  static create(options: RedisTokenBucketOptions): RedisTokenBucket {
    const settings = checkRedisOptions(options);
    const key = checkName('key', options.key);
    const share = new LocalShare(settings.processes, settings.localBucket);
    const counts = new CallCounts(settings.onUnreachable);
    return new RedisTokenBucket(settings, key, counts, ({ schedule }) => share.of(schedule));
  }

  /** What calls come to while the server does not answer. */
  get whenUnreachable(): WhenUnreachable {
    return this.#settings.whenUnreachable;
  }

  /** The rate in force, in tokens per second, as the server last told: at first that of the options. */
  get rate(): number {
    return this.#remote.schedule.rate;
  }

  /** The most tokens that the bucket holds, as the server last told. */
  get burst(): number {
    return this.#remote.schedule.burst;
  }

  /** {@link burst}, by the name that all limiters have for the most that can be taken at once. */
  get limit(): number {
    return this.burst;
  }

  /** What the calls of this object came to. */
  stats(): RedisStats {
    return this.#counts.stats();
  }

  /** Resolves with whether `n` tokens were taken, now or not at all. */
  async tryConsume(n = 1): Promise<boolean> {
    checkTokens('n', n);
    const isAdmitted = await this.#answers.ask(
      async () => (await this.#remote.acquire(n, 0)).waitUs === 0,
      { refuse: () => false, local: () => this.#local().tryConsume(n) },
    );
    this.#counts.count(isAdmitted ? n : 0, !isAdmitted);
    return isAdmitted;
  }

  /** Takes as many whole tokens as there are, at most `n`, and resolves with how many. */
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
   * Takes `n` tokens now or none, and says how things stand. Where the server does not answer, a
   * refusal names the time until it is asked again, and no reset.
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
   * Takes `n` tokens if they will be there within `maxWaitMs`, and resolves with the milliseconds to
   * wait before acting, from when it resolves: 0 is now. Otherwise takes nothing and resolves with
   * `REFUSED`. Without a maximum it borrows.
   */
  async acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): Promise<number> {
    checkTokens('n', n);
    checkSpanMs('maxWaitMs', maxWaitMs);
    const waitMs = await this.#answers.ask(
      async () => {
        const { waitUs } = await this.#remote.acquire(n, maxWaitMs * 1000);
        return waitUs < 0 ? REFUSED : waitUs / 1000;
      },
      { refuse: () => REFUSED, local: () => this.#local().acquire(n, maxWaitMs) },
    );
    this.#counts.count(waitMs === REFUSED ? 0 : n, waitMs === REFUSED);
    return waitMs;
  }

  /**
   * Takes `n` tokens that will be there within `maxWaitMs` (default: at any time), to be used at the
   * instant that the reservation names. Resolves with undefined, and takes nothing, if they will not.
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
   * Resolves when `n` tokens are there for this caller, never before. Callers are served in the order
   * in which the server heard of them. It sleeps here, for as long as the server said. An abort gives
   * the tokens back if no later call stands on them.
   *
   * The timeout is for the tokens: the server's answers, each up to `timeoutMs` of the bucket, come
   * on top.
   *
   * @throws RateLimitError `ERR_RATE_LIMIT_TIMEOUT`, taking nothing, if the wait would outlast
   * `timeoutMs`; `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens; `ERR_UNREACHABLE` if
   * the server did not answer until then.
   */
  async wait(n = 1, options: WaitOptions = {}): Promise<void> {
    checkTokens('n', n);
    const { timeoutMs, signal, strict } = checkWait(options);
    signal?.throwIfAborted();
    const deadlineUs = systemClock.now() + timeoutMs * 1000;
    try {
      const acquire = () => {
        const asked = this.#remote.acquire(n, Math.max(0, deadlineUs - systemClock.now()));
        return orAborted(asked, signal, ({ receipt }) => this.#cancel(receipt));
      };
      const acquired = await this.#answers.insist(acquire, deadlineUs, signal);
      if (acquired === undefined) {
        const leftMs = Math.max(0, (deadlineUs - systemClock.now()) / 1000);
        await this.#local().wait(n, { timeoutMs: leftMs, strict, ...(signal && { signal }) });
      } else {
        if (acquired.waitUs === NEVER) throw exceeds(n, acquired.burst);
        if (acquired.waitUs === LATER) throw timedOut(n, timeoutMs);
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
      await systemClock.sleep(systemClock.now() + waitUs, options);
    } catch (error) {
      // The caller need not wait for it.
      this.#cancel(receipt).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Gives back tokens that were taken and not used; the bucket never gets fuller than full. Where the
   * server does not answer they lapse.
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
   * Tokens in the bucket, fractions included: negative in debt, Infinity where unlimited.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not answer, but for `'local'`.
   */
  async balance(): Promise<number> {
    return this.#answers.ask(() => this.#remote.balance(), {
      local: () => this.#local().balance(),
    });
  }

  /**
   * Milliseconds until the bucket holds `tokens`, if nobody takes any: 0 if it does now, Infinity if it
   * never will.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not answer, but for `'local'`.
   */
  async timeUntil(tokens: number): Promise<number> {
    checkTokens('tokens', tokens);
    return this.#answers.ask(async () => (await this.#remote.timeUntil(tokens)) / 1000, {
      local: () => this.#local().timeUntil(tokens),
    });
  }

  /**
   * Changes the limit for all who name the key. Each call, anywhere, sees the old limit or the new one.
   * Tokens and debt are kept, in tokens; calls that wait keep the instants they were promised. What is
   * left out stays as it is. A limit other than that of the options stays with the key for good; when
   * the key is deleted, or lost, that of the options is in force again.
   *
   * @throws RangeError, TypeError for an option out of its range, naming it.
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not answer: the limit may have been
   * changed.
   */
  async reconfigure(limit: LimitChange): Promise<void> {
    checkObject('limit', limit);
    await this.#answers.ask(
      () => this.#remote.reconfigure((now) => changedSchedule(now, limit)),
      {},
    );
  }
}
