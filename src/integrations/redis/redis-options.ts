import type { RateLimitError } from '../../errors.ts';
import { checkOptions, joined, type Known } from '../../known-options.ts';
import {
  type BucketLimit,
  type ContinuousLimit,
  LIMIT_OPTIONS,
  type LimitChange,
} from '../../limiters/limit.ts';
import {
  type LimitsChange,
  named,
  type Schedules,
  type SeveralLimits,
  schedulesOf,
} from '../../limiters/several-limits.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { checkNumber, shown } from '../../options.ts';
import type { RedisClient } from './client.ts';
import { Link } from './link.ts';
import type { RemoteOptions } from './remote-bucket.ts';

/** The outcome of calls while the server does not respond. */
export type WhenUnreachable = 'refuse' | 'throw' | 'local';

const CHOICES: readonly WhenUnreachable[] = ['refuse', 'throw', 'local'];
const TIMEOUT = { min: 1, max: 600_000 } as const;

/** Options of all buckets on a server. */
export interface RedisOptions {
  /**
   * A connected `redis` or `ioredis` client. You own it: close it yourself, and use it for other
   * commands, too. The bucket listens to its `error` event, so a broken connection does not end the
   * process; calls report the error.
   */
  readonly client: RedisClient;
  /** Timeout for the server's response in milliseconds, 1 to 600,000. Default 1000. */
  readonly timeoutMs?: number;
  /**
   * The outcome of calls while the server does not respond in time.
   *
   * - `'refuse'`, the default: calls are refused; `wait` keeps waiting for the server.
   * - `'throw'`: calls reject with a RateLimitError `ERR_UNREACHABLE`.
   * - `'local'`: this process admits its share of the limit: rate / processes, and burst /
   *   processes but at least one token.
   */
  readonly whenUnreachable?: WhenUnreachable;
  /**
   * Number of buckets that share this key, over all machines: 1 to 1,000,000. Required for
   * `'local'`.
   */
  readonly processes?: number;
  /**
   * For `'local'`: a bucket to use instead of a new one, for example to share it between threads.
   */
  readonly localBucket?: TokenBucket;
  /** Called each time the server stops responding. Must not throw. */
  readonly onUnreachable?: (error: RateLimitError) => void;
}

/** Options of `RedisTokenBucket.create`. */
export type RedisTokenBucketOptions = (BucketLimit | SeveralLimits) &
  RedisOptions & {
    /**
     * Key of the bucket on the server, 1 to 1024 characters. Buckets with the same key share one
     * limit.
     */
    readonly key: string;
  };

/** The options of every bucket on a server. */
const OPTIONS: Known<(BucketLimit | SeveralLimits) & Omit<RedisOptions, 'localBucket'>> =
  /* @__PURE__ */ joined(LIMIT_OPTIONS, {
    limits: true,
    client: true,
    timeoutMs: true,
    whenUnreachable: true,
    processes: true,
    onUnreachable: true,
  });
export const BUCKET_OPTIONS: Known<RedisTokenBucketOptions> = /* @__PURE__ */ joined(OPTIONS, {
  key: true,
  localBucket: true,
});
export const CHANGE_OPTIONS: Known<LimitChange | LimitsChange> = /* @__PURE__ */ joined(
  LIMIT_OPTIONS,
  { limits: true },
);
export const KEYED_OPTIONS = /* @__PURE__ */ joined(OPTIONS, { prefix: true, localCapacity: true });

/** The validated options with their defaults. */
export interface RedisSettings extends Omit<RemoteOptions, 'key'> {
  readonly whenUnreachable: WhenUnreachable;
  /** Used for `'local'` only. */
  readonly processes: number;
  readonly localBucket: TokenBucket | undefined;
  readonly onUnreachable: (error: RateLimitError) => void;
}

/** A bucket's limits, for `inspect`. */
export function describedLimits(limits: readonly ContinuousLimit[]) {
  const [{ rate, burst } = { rate: undefined, burst: undefined }, ...others] = limits;
  if (others.length === 0) return { rate, burst };
  return { limits: limits.map((one) => `${one.burst} at ${one.rate}/s`).join(' and ') };
}

/** @throws TypeError, RangeError if any rate is 0: the server would store the pause for good. */
export function checkRates(schedules: Schedules): Schedules {
  for (const [i, { rate }] of schedules.entries()) {
    const check = () => checkNumber('rate', rate, { above: 0, orInfinity: true });
    if (schedules.length === 1) check();
    else named(i, check);
  }
  return schedules;
}

/** @throws TypeError, RangeError for an invalid option. */
export function checkRedisOptions<T extends RedisOptions & (BucketLimit | SeveralLimits)>(
  options: T,
  known: Known<T>,
): RedisSettings {
  const given: RedisOptions = checkOptions(options, known);
  const { client, timeoutMs = 1000, whenUnreachable = 'refuse' } = given;
  const { processes, localBucket, onUnreachable = () => undefined } = given;
  const schedules = checkRates(schedulesOf(options));
  checkNumber('timeoutMs', timeoutMs, TIMEOUT);
  if (!CHOICES.includes(whenUnreachable)) {
    throw new RangeError(
      `whenUnreachable must be one of ${CHOICES.join(', ')}, got ${shown(whenUnreachable)}`,
    );
  }
  if (processes !== undefined || (whenUnreachable === 'local' && localBucket === undefined)) {
    checkNumber('processes', processes, { min: 1, max: 1_000_000, integer: true });
  }
  if (localBucket !== undefined && !(localBucket instanceof TokenBucket)) {
    throw new TypeError(`localBucket must be a TokenBucket, got ${shown(localBucket)}`);
  }
  if (typeof onUnreachable !== 'function') {
    throw new TypeError(`onUnreachable must be a function, got ${shown(onUnreachable)}`);
  }
  return {
    link: Link.of(client),
    schedules,
    timeoutMs,
    whenUnreachable,
    processes: processes ?? 1,
    localBucket,
    onUnreachable,
  };
}

/** @throws TypeError, RangeError unless the name is a string of 1 to 1024 characters. */
export function checkName(what: string, name: unknown): string {
  if (typeof name !== 'string') {
    throw new TypeError(`${what} must be a string, got ${shown(name)}`);
  }
  if (name.length < 1 || name.length > 1024) {
    throw new RangeError(`${what} must have 1 to 1024 characters, got ${name.length}`);
  }
  return name;
}
