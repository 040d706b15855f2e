import { checkOptions, joined, type Known } from '../../known-options.ts';
import {
  type ContinuousLimit,
  changeOf,
  describedLimits,
  type LimitsChange,
  type SeveralLimits,
  schedulesOf,
} from '../../limiters/limit.ts';
import { LimitSet } from '../../limiters/limit-set.ts';
import type { Decision, Description } from '../../limiters/state.ts';
import { Waiters } from '../../limiters/waiting.ts';
import { LocalShare } from './local-share.ts';
import { RedisBucket } from './redis-bucket.ts';
import {
  checkLocal,
  checkName,
  checkRates,
  checkRedisOptions,
  KEY_OPTIONS,
  type KeyOptions,
} from './redis-options.ts';
import { CallCounts } from './redis-stats.ts';
import type { RemoteBucket } from './remote-bucket.ts';

/** Options of `RedisLimitSet.create`. */
export interface RedisLimitSetOptions extends SeveralLimits, KeyOptions<LimitSet> {}

const OPTIONS: Known<RedisLimitSetOptions> = /* @__PURE__ */ joined(KEY_OPTIONS, { limits: true });

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
    const settings = checkRedisOptions(options, OPTIONS, () => schedulesOf(options.limits));
    const key = checkName('key', options.key);
    const share = new LocalShare<LimitSet>({
      processes: settings.processes,
      shared: checkLocal(options.localBucket, LimitSet),
      create: (limits) => LimitSet.create({ limits }),
      reconfigure: (set, limits) => set.reconfigure({ limits }),
    });
    const counts = new CallCounts(settings.onUnreachable);
    const local = ({ schedules }: RemoteBucket) => share.of(schedules);
    return new RedisLimitSet(settings, key, counts, local, new Waiters());
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
    await this.calls.reconfigure((now) => checkRates(changeOf(now.length, limits)(now), true));
  }

  /** @internal */
  protected describe(): Description {
    return ['RedisLimitSet', { key: this.key, limits: describedLimits(this.limits) }];
  }
}
