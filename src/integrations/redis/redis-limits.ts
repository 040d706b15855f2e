import type { Schedule } from '../../kernel/bucket/schedule.ts';
import type { Limits } from '../../kernel/keyed/table-cell.ts';
import { tightest } from '../../kernel/limit-set/cell.ts';
import { checkOptions, joined, type Known } from '../../known-options.ts';
import type { BucketCalls } from '../../limiters/bucket-calls.ts';
import {
  type BucketLimit,
  type ContinuousLimit,
  changedSchedule,
  changeOf,
  describedLimits,
  LIMIT_OPTIONS,
  type LimitChange,
  type LimitsChange,
  type Schedules,
  type SeveralLimits,
  scheduleOf,
  schedulesOf,
} from '../../limiters/limit.ts';
import { LimitSet } from '../../limiters/limit-set.ts';
import type { Decision, Description } from '../../limiters/state.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { Waiters } from '../../limiters/waiting.ts';
import { Answers } from './answers.ts';
import { type LocalShare, RedisBucket } from './redis-bucket.ts';
import {
  checkLocal,
  checkName,
  checkRates,
  checkRedisOptions,
  KEY_OPTIONS,
  type KeyOptions,
} from './redis-options.ts';

/** A process's share of a limit: at least one token. */
function shareOf({ rate, burst }: Schedule, processes: number): ContinuousLimit {
  // The share of a very low rate may be below a bucket's minimum.
  return { rate: Math.max(1e-6, rate / processes), burst: Math.max(1, burst / processes) };
}

/** A process's share of each limit. */
export function sharesOf([own, ...others]: Schedules, processes: number): Limits<ContinuousLimit> {
  return [shareOf(own, processes), ...others.map((one) => shareOf(one, processes))];
}

/** `shared` is the user's own limiter, which is never changed. Otherwise the share starts full. */
function localShare<Local extends BucketCalls>(
  shared: Local | undefined,
  changed: (schedules: Schedules, before: Local | undefined) => Local,
): LocalShare {
  let current: Schedules | undefined;
  let local = shared;
  return (schedules) => {
    if (local === undefined || (shared === undefined && current !== schedules)) {
      local = changed(schedules, local);
      current = schedules;
    }
    return local;
  };
}

export function bucketShare(processes: number, shared?: TokenBucket): LocalShare {
  return localShare(shared, (schedules, before) => {
    // If others have stored several limits, the share of the tightest.
    const limit = shareOf(tightest(schedules), processes);
    before?.reconfigure(limit);
    return before ?? TokenBucket.create(limit);
  });
}

export function setShare(processes: number, shared?: LimitSet): LocalShare {
  return localShare(shared, (schedules, before) => {
    const limits = sharesOf(schedules, processes);
    if (before?.limits.length !== limits.length) return LimitSet.create({ limits });
    before.reconfigure({ limits });
    return before;
  });
}

/** Options of `RedisTokenBucket.create`. */
export type RedisTokenBucketOptions = BucketLimit & KeyOptions<TokenBucket>;

const OPTIONS: Known<RedisTokenBucketOptions> = /* @__PURE__ */ joined(LIMIT_OPTIONS, KEY_OPTIONS);

/**
 * A token bucket on a Redis or Valkey server: one limit for all processes on all machines that use
 * its key. Together they get at most burst + rate * t tokens in any interval of t seconds of the
 * server's clock. Calls in the same turn of the event loop share one command.
 *
 * The bucket starts full. If the key exists, the stored limit applies, otherwise the limit of the
 * options. The key expires once the bucket is full again, unless `reconfigure` has changed the
 * limit.
 *
 * Every call rejects with a RateLimitError `ERR_KEY_INVALID` if the key holds something else, and
 * `ERR_COMMAND_FAILED` if the server answers with another error; with `whenUnreachable: 'throw'`, also
 * `ERR_UNREACHABLE`.
 *
 * @example
 * ```ts
 * const bucket = RedisTokenBucket.create({ client, key: 'orders', rate: 100, burst: 10 });
 * if (await bucket.tryConsume()) serve();
 * await bucket.wait(5);
 * ```
 */
export class RedisTokenBucket extends RedisBucket {
  /**
   * Creates a bucket. Does not contact the server yet.
   *
   * @throws RangeError, TypeError for an invalid option.
   */
  static create(options: RedisTokenBucketOptions): RedisTokenBucket {
    const settings = checkRedisOptions(options, OPTIONS, () => [scheduleOf(options)]);
    const key = checkName('key', options.key);
    const shared = checkLocal(options.localBucket, TokenBucket);
    const local = bucketShare(settings.processes, shared);
    return new RedisTokenBucket(settings, key, new Answers(settings), local, new Waiters());
  }

  /**
   * Changes the limit for all users of the key, atomically. Tokens and debt are kept, counted in
   * tokens; waiting calls keep their instants. Omitted fields do not change. A limit that differs
   * from the options is stored permanently with the key; if the key is deleted or lost, the limit
   * of the options applies again.
   *
   * @throws RangeError, TypeError for an invalid option.
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not respond: the limit may or may
   *   not have changed.
   */
  async reconfigure(limit: LimitChange): Promise<void> {
    const change = checkOptions(limit, LIMIT_OPTIONS, 'limit');
    await this.changeLimits(([own, ...others]) => {
      if (others.length === 0) return checkRates([changedSchedule(own, change)]);
      throw new TypeError('the key holds several limits: change them with a RedisLimitSet');
    });
  }

  /** @internal */
  protected describe(): Description {
    const { key, rate, burst } = this;
    return ['RedisTokenBucket', { key, rate, burst }];
  }
}

/** Options of `RedisLimitSet.create`. */
export interface RedisLimitSetOptions extends SeveralLimits, KeyOptions<LimitSet> {}

const SET_OPTIONS: Known<RedisLimitSetOptions> = /* @__PURE__ */ joined(KEY_OPTIONS, {
  limits: true,
});

/**
 * Several limits on a Redis or Valkey server that hold together, for all processes on all machines
 * that use its key. One command decides on all of them: a call is admitted only if every limit
 * admits it, and then counts against each; a refused call takes nothing. The rest is as for
 * {@link RedisTokenBucket}.
 *
 * @example
 * ```ts
 * const search = RedisLimitSet.create({
 *   client,
 *   key: 'search',
 *   limits: [
 *     { rate: 10, burst: 10 },
 *     { rate: per(100, 'minute'), burst: 100 },
 *   ],
 * });
 * const { allowed, limits } = await search.decide(); // the state of each limit
 * ```
 */
export class RedisLimitSet extends RedisBucket {
  /**
   * Creates a set of 1 to 8 limits. Does not contact the server yet.
   *
   * @throws RangeError, TypeError for an invalid option.
   */
  static create(options: RedisLimitSetOptions): RedisLimitSet {
    const settings = checkRedisOptions(options, SET_OPTIONS, () => schedulesOf(options.limits));
    const key = checkName('key', options.key);
    const local = setShare(settings.processes, checkLocal(options.localBucket, LimitSet));
    return new RedisLimitSet(settings, key, new Answers(settings), local, new Waiters());
  }

  /** The limits in force, as last reported by the server, in the order given. */
  get limits(): readonly ContinuousLimit[] {
    return this.remote.schedules.map(({ rate, burst }) => ({ rate, burst }));
  }

  /** As for {@link RedisTokenBucket}, with the state of each limit, even of a single one. */
  override async decide(n = 1): Promise<Decision> {
    const decision = await super.decide(n);
    if (decision.limits !== undefined) return decision;
    const { allowed: _, ...state } = decision;
    return { ...decision, limits: [state] };
  }

  /**
   * Changes the limits for all users of the key, atomically, as {@link RedisTokenBucket.reconfigure}
   * does: pass one change for each limit, such as `{ limits: [{}, { rate: 5 }] }`.
   *
   * @throws RangeError, TypeError for an invalid option.
   * @throws RateLimitError `ERR_UNREACHABLE` if the server does not respond: the limits may or may
   *   not have changed.
   */
  async reconfigure(change: LimitsChange): Promise<void> {
    const { limits } = checkOptions(change, { limits: true }, 'change');
    await this.changeLimits((now) => checkRates(changeOf(now.length, limits)(now), true));
  }

  /** @internal */
  protected describe(): Description {
    return ['RedisLimitSet', { key: this.key, limits: describedLimits(this.limits) }];
  }
}
