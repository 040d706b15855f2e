import { checkOptions, joined, type Known } from '../../known-options.ts';
import {
  type BucketLimit,
  changedSchedule,
  LIMIT_OPTIONS,
  type LimitChange,
  scheduleOf,
} from '../../limiters/limit.ts';
import type { Description } from '../../limiters/state.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
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
    const share = new LocalShare<TokenBucket>({
      processes: settings.processes,
      shared: checkLocal(options.localBucket, TokenBucket),
      create: ([limit]) => TokenBucket.create(limit),
      reconfigure: (bucket, [limit]) => bucket.reconfigure(limit),
    });
    const counts = new CallCounts(settings.onUnreachable);
    const local = ({ schedules }: RemoteBucket) => share.of(schedules);
    return new RedisTokenBucket(settings, key, counts, local, new Waiters());
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
    await this.calls.reconfigure(([own, ...others]) => {
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
