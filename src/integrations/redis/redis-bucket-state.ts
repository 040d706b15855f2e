import type { BucketCalls } from '../../limiters/bucket-calls.ts';
import { Described, type Description } from '../../limiters/described.ts';
import type { ContinuousLimit } from '../../limiters/limit.ts';
import type { WaitCount } from '../../limiters/waiting.ts';
import { checkTokens } from '../../options.ts';
import { AnsweredCalls, type AskedBucket } from './answered-calls.ts';
import { Answers } from './answers.ts';
import { describedLimits, type RedisSettings, type WhenUnreachable } from './redis-options.ts';
import type { CallCounts, RedisStats } from './redis-stats.ts';
import { RemoteBucket } from './remote-bucket.ts';

/** A bucket on a server, with the methods that read its state. */
export abstract class RedisBucketState extends Described {
  /** The bucket's key on the server. */
  readonly key: string;
  /** The behaviour of calls while the server does not respond. */
  readonly whenUnreachable: WhenUnreachable;
  /** @internal */
  protected readonly asked: AskedBucket;
  /** @internal */
  protected readonly calls: AnsweredCalls;
  readonly #waiters: WaitCount;

  /** @internal */
  protected constructor(
    settings: RedisSettings,
    key: string,
    counts: CallCounts,
    local: (remote: RemoteBucket) => BucketCalls,
    waiters: WaitCount,
  ) {
    super();
    const remote = new RemoteBucket({ ...settings, key, onCommand: () => counts.sent() });
    const answers = new Answers(settings, counts, () => remote.node);
    this.key = key;
    this.whenUnreachable = settings.whenUnreachable;
    this.asked = { remote, answers, counts, local: () => local(remote) };
    this.calls = new AnsweredCalls(this.asked);
    this.#waiters = waiters;
  }

  /** @internal */
  protected describe(): Description {
    return ['RedisTokenBucket', { key: this.key, ...describedLimits(this.limits) }];
  }

  /**
   * The current rate in tokens per second, as last reported by the server; initially the option's.
   * With several limits, the lowest one.
   */
  get rate(): number {
    return this.asked.remote.schedule.rate;
  }

  /** The burst, as last reported by the server; with several limits, the smallest one. */
  get burst(): number {
    return this.asked.remote.schedule.burst;
  }

  /** {@link burst}, under the common name of all limiters. */
  get limit(): number {
    return this.burst;
  }

  /** The limits in force, as last reported by the server, in the order given. */
  get limits(): readonly ContinuousLimit[] {
    return this.asked.remote.schedules.map(({ rate, burst }) => ({ rate, burst }));
  }

  /** Counts of this object's calls. */
  stats(): RedisStats {
    return this.asked.counts.stats(this.waiting);
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
}
