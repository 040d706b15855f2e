import { LATER, NEVER } from '../../kernel/bucket/kernel.ts';
import { checkOptions } from '../../known-options.ts';
import { type BucketCalls, REFUSED, type ReserveOptions } from '../../limiters/bucket-calls.ts';
import type { Schedules } from '../../limiters/limit.ts';
import { PROMISES, type Waited, type WaitOptions } from '../../limiters/limiter.ts';
import { type Decision, Described, type LimitState } from '../../limiters/state.ts';
import {
  checkWait,
  exceeds,
  queueFull,
  timedOut,
  type Wait,
  type Waiters,
  waitedSince,
} from '../../limiters/waiting.ts';
import { checkMade, checkSpanMs, checkTokens } from '../../options.ts';
import { sleepOrWake } from '../../time/agenda.ts';
import type { SleepOptions } from '../../time/clock.ts';
import { onAbort } from '../../time/on-abort.ts';
import { systemClock } from '../../time/system-clock.ts';
import type { Answers, RedisStats, Results } from './answers.ts';
import type { TokenSource } from './fleet/token-source.ts';
import type { RedisSettings, WhenUnreachable } from './redis-options.ts';
import { type Acquired, RemoteBucket } from './remote-bucket.ts';
import { hasCode, isUnreachable } from './server-error.ts';

/**
 * Tokens reserved on a server. Act at the reserved instant or later, or cancel. Neither a change of
 * the limit nor returned tokens move the instant.
 */
export class RedisReservation {
  /** Milliseconds to wait before acting, from the server's response on; 0 means now. */
  readonly waitMs: number;
  /** The instant, in microseconds of `systemClock`. */
  readonly atUs: number;
  #cancel: (() => Promise<boolean>) | undefined;

  /** @internal */
  constructor(waitMs: number, atUs: number, cancel: () => Promise<boolean>) {
    this.waitMs = waitMs;
    this.atUs = atUs;
    this.#cancel = cancel;
  }

  /**
   * Returns the tokens, up to {@link atUs}. Resolves with whether that succeeded: only if no call on
   * any machine has taken or returned tokens since, and the limit has not changed. Otherwise, or if
   * the server does not respond, the tokens are lost. Only the first call can resolve with true.
   *
   * After `atUs` it does nothing and resolves with false: you may have acted. If you have not, return
   * the tokens with `returnTokens`. Tokens that were available at once are due at once.
   */
  async cancel(): Promise<boolean> {
    if (systemClock.now() > this.atUs) return false;
    const cancel = this.#cancel;
    this.#cancel = undefined;
    return cancel === undefined ? false : cancel();
  }
}

/** The limiter with this process's share of the limits in force, for use without the server. */
export type LocalShare = (schedules: Schedules) => BucketCalls;

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
  readonly #answers: Answers;
  /** This process's share, for `whenUnreachable: 'local'`. */
  readonly #local: () => BucketCalls;
  readonly #waiters: Waiters;

  /** @internal */
  constructor(
    settings: RedisSettings,
    key: string,
    answers: Answers,
    local: LocalShare,
    waiters: Waiters,
  ) {
    super();
    this.whenUnreachable = checkMade(new.target, settings, 'schedules').whenUnreachable;
    this.key = key;
    this.remote = new RemoteBucket({ ...settings, key, onCommand: () => answers.sent() });
    this.#answers = answers;
    this.#local = () => local(this.remote.schedules);
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

  /** Counts of this object's calls; of a bucket from `for(key)`, those of all keys. */
  stats(): RedisStats {
    return this.#answers.stats(this.waiting);
  }

  /** Unsettled calls of `wait` on this object; of a bucket from `for(key)`, all for that key. */
  get waiting(): number {
    return this.#waiters.of(this.key);
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
  balance(): Promise<number> {
    return this.#ask(() => this.remote.balance(), { local: () => this.#local().balance() });
  }

  /**
   * Milliseconds until the bucket holds `tokens` if none are taken: 0 if it already does, Infinity
   * if it never will.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not respond, except with `'local'`.
   */
  async timeUntil(tokens: number): Promise<number> {
    checkTokens('tokens', tokens);
    const local = () => this.#local().timeUntil(tokens);
    return this.#ask(async () => (await this.remote.timeUntil(tokens)) / 1000, { local });
  }

  #ask<T>(ask: () => Promise<T>, results: Results<T>): Promise<T> {
    return this.#answers.ask(this.remote, ask, results);
  }

  /** Takes `n` tokens now and resolves with true, or takes nothing and resolves with false. */
  tryConsume(n = 1): Promise<boolean> {
    // Not async: this and `decide` are called most often, and each promise takes time.
    return this.#ask(() => this.remote.tryTake(checkTokens('n', n)), {
      refuse: () => false,
      local: () => this.#local().tryConsume(n),
      admitted: (isAdmitted) => (isAdmitted ? n : undefined),
    });
  }

  /** Takes as many whole tokens as are available, up to `n`, and resolves with their number. */
  consumeOrDrain(n: number): Promise<number> {
    return this.#ask(() => this.remote.drain(checkTokens('n', n)), {
      refuse: () => 0,
      local: () => this.#local().consumeOrDrain(n),
      admitted: (taken) => (taken === 0 && n >= 1 ? undefined : taken),
    });
  }

  /**
   * Takes `n` tokens now or none, and resolves with the state of the bucket. If the server does not
   * respond, the refusal's `retryAfterMs` is the time until the next attempt, and `resetMs` is
   * Infinity.
   */
  decide(n = 1): Promise<Decision> {
    return this.#ask(() => this.remote.decide(checkTokens('n', n)), {
      refuse: () => this.#refusal(),
      local: () => (n > this.#local().limit ? this.#refusal() : this.#local().decide(n)),
      admitted: ({ allowed }) => (allowed ? n : undefined),
    });
  }

  #refusal(): Decision {
    const { schedules, schedule, node } = this.remote;
    const retryAfterMs = Math.max(0, node.retryAtUs - systemClock.now()) / 1000;
    const state = (limit: number): LimitState => {
      const never = Number.POSITIVE_INFINITY;
      return { limit, remaining: 0, retryAfterMs, resetMs: never, nextTokenMs: never };
    };
    const limits = schedules.map(({ burst }) => state(burst));
    return {
      allowed: false,
      ...state(schedule.burst),
      ...(limits.length > 1 && { limits }),
    };
  }

  /**
   * Takes `n` tokens if they will be available within `maxWaitMs`, and resolves with the
   * milliseconds to wait before acting; 0 means now. Otherwise takes nothing and resolves with
   * `REFUSED`. Without `maxWaitMs`, it borrows.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  async acquire(n = 1, maxWaitMs = Number.POSITIVE_INFINITY): Promise<number> {
    const reservation = await this.reserve(n, { maxWaitMs });
    return reservation?.waitMs ?? REFUSED;
  }

  /**
   * Reserves `n` tokens if they will be available within `maxWaitMs` (default: any time). Use them
   * at the reservation's instant. Otherwise takes nothing and resolves with undefined.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if the bucket can never hold `n` tokens.
   */
  async reserve(n = 1, options: ReserveOptions = {}): Promise<RedisReservation | undefined> {
    checkTokens('n', n);
    const { maxWaitMs = Number.POSITIVE_INFINITY } = checkOptions(options, { maxWaitMs: true });
    checkSpanMs('maxWaitMs', maxWaitMs);
    const ask = async () => {
      const acquired = await this.remote.acquire(n, maxWaitMs * 1000);
      const { waitUs } = acquired;
      if (waitUs === NEVER) throw exceeds(n, this.burst);
      if (waitUs === LATER) return undefined;
      const atUs = systemClock.now() + waitUs;
      return new RedisReservation(waitUs / 1000, atUs, () => this.#cancel(acquired));
    };
    const local = () => {
      const share = this.#local();
      // The server may grant them after the outage, so they are not impossible.
      const promised = n > share.limit ? undefined : share.reserve(n, { maxWaitMs });
      if (promised === undefined) return undefined;
      const { waitMs } = promised;
      // The share may have another clock.
      const atUs = systemClock.now() + waitMs * 1000;
      return new RedisReservation(waitMs, atUs, async () => promised.cancel());
    };
    return this.#ask(ask, {
      refuse: () => undefined,
      local,
      admitted: (reservation) => reservation && n,
    });
  }

  #cancel(acquired: Acquired): Promise<boolean> {
    return this.remote.cancel(acquired).catch((error: unknown) => {
      if (isUnreachable(error)) return false;
      throw error;
    });
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
    const { key } = this;
    const waiters = this.#waiters;
    if (waiters.of(key) >= wait.maxWaiting) await this.#wait(n, { ...wait, timeoutMs: 0 }, true);
    else {
      waiters.enter(key);
      try {
        await this.#wait(n, wait, false);
      } finally {
        waiters.leave(key);
      }
    }
    return waitedSince(systemClock, sinceUs);
  }

  /** Waits for tokens; if the queue is full, takes only what is available now. Counts the call. */
  async #wait(n: number, wait: Wait, isFull: boolean): Promise<void> {
    const { timeoutMs, maxWaiting, signal, strict, precise } = wait;
    const deadlineUs = systemClock.now() + timeoutMs * 1000;
    try {
      const ask = () => this.remote.acquire(n, Math.max(0, deadlineUs - systemClock.now()));
      // Only errors of the server count as its answers, not an abort's reason.
      const attempt = () =>
        orAborted(this.#ask(ask, {}), signal, (acquired) => this.#cancel(acquired));
      const canShare = () => n <= this.#local().limit;
      const { remote } = this;
      const acquired = await this.#answers.insist(remote, attempt, canShare, deadlineUs, signal);
      const refusal = () => (isFull ? queueFull(maxWaiting) : timedOut(n, timeoutMs));
      if (acquired === undefined) {
        const waited = this.#local().wait(n, {
          timeoutMs: Math.max(0, (deadlineUs - systemClock.now()) / 1000),
          maxWaiting: isFull ? 0 : Number.POSITIVE_INFINITY,
          strict,
          ...(precise !== undefined && { precise }),
          ...(signal && { signal }),
        });
        // Its own would name the rest of the timeout.
        await waited.catch((error: unknown) => {
          throw hasCode(error, 'ERR_RATE_LIMIT_TIMEOUT', 'ERR_QUEUE_FULL') ? refusal() : error;
        });
      } else {
        if (acquired.waitUs === NEVER) throw exceeds(n, this.burst);
        if (acquired.waitUs === LATER) throw refusal();
        await this.#sleep(acquired, { strict, precise, signal });
      }
    } catch (error) {
      this.#answers.countRejected(error === signal?.reason ? undefined : error);
      throw error;
    }
    this.#answers.count(n);
  }

  async #sleep(acquired: Acquired, options: SleepOptions): Promise<void> {
    if (acquired.waitUs === 0) return;
    try {
      await sleepOrWake(systemClock, systemClock.now() + acquired.waitUs, options);
    } catch (error) {
      // In the background: don't make the caller wait for the cancellation.
      this.#cancel(acquired).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Returns unused tokens; the bucket never exceeds its burst. If the server does not respond, they
   * are lost.
   */
  async returnTokens(n: number): Promise<void> {
    checkTokens('n', n);
    const lapse = () => undefined;
    await this.#ask(() => this.remote.returnTokens(n), { refuse: lapse, local: lapse });
  }

  /** Replaces the limits in force, without a substitute for the server. @internal */
  protected changeLimits(change: (now: Schedules) => Schedules): Promise<void> {
    return this.#ask(() => this.remote.reconfigure(change), {});
  }
}

/** Rejects as soon as the signal is aborted. A later result is passed to `undo`. */
function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  undo: (late: T) => Promise<unknown>,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const unlink = onAbort(signal, (reason) => {
      reject(reason);
      work.then(undo).catch(() => undefined);
    });
    // With the result, so that an abort does not undo what the caller gets.
    work.finally(unlink).then(resolve, reject);
  });
}
